"""An interface that merges packets, and does not any more, in a namespace; judged by the kernel."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.merging import Merging
from sfcperf.hosts.namespace import NamespaceHost

pytestmark = pytest.mark.root

SPACE = "sfcperf-merging"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[NamespaceHost]:
    """With the interface eth0, which merges."""
    for argv in (
        f"ip netns add {SPACE}",
        f"ip -n {SPACE} link add eth0 type veth peer name eth1",
        f"ip netns exec {SPACE} ethtool -K eth0 gro on",
    ):
        subprocess.run(argv.split(), check=True)
    yield NamespaceHost(SPACE, SPACE, tmp_path)
    subprocess.run(["ip", "netns", "delete", SPACE], check=True)


def merges(host: NamespaceHost) -> bool:
    told = host.run(["ethtool", "-k", "eth0"], timeout_s=10).text
    return "generic-receive-offload: on" in told


@pytest.mark.parametrize("state", ["on", "off"])
def test_it_is_afterwards_as_it_was(host: NamespaceHost, state: str) -> None:
    host.run(["ethtool", "-K", "eth0", "gro", state], timeout_s=10)
    merging = Merging(host)
    for _ in range(2):
        merging.turn_off("eth0")
        assert not merges(host)
    with pytest.raises(MeasurementError, match="ethtool"):
        merging.turn_off("eth7")
    merging.restore()
    assert merges(host) is (state == "on")


def test_an_interface_that_cannot_do_without(host: NamespaceHost) -> None:
    """No card of this machine is like that: it says what one with a fixed offload says."""

    class Fixed(NamespaceHost):
        def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
            done = super().run(argv, **how)
            told = done.text.replace("large-receive-offload: off", "large-receive-offload: on")
            return CompletedCommand(done.argv, done.returncode, told.encode(), done.stderr)

    fixed = Fixed(SPACE, SPACE, host.workdir)
    merging = Merging(fixed)
    with pytest.raises(MeasurementError, match="large-receive-offload is on"):
        merging.turn_off("eth0")
    merging.restore()
    assert merges(host)
