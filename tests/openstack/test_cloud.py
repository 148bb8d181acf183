"""The cloud itself is what the tests of the driver take it for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.cloud.openstack_guest import booted
from support.cloud.openstack_project import inventory, left_over

if TYPE_CHECKING:
    from openstack.connection import Connection

pytestmark = [pytest.mark.root, pytest.mark.server]

SCRIPT = '#!/bin/sh\necho "address at the script: $(ip -4 -o addr show dev eth0 | wc -l)"\n'
KEY = re.compile(
    r"^-----BEGIN SSH HOST KEY KEYS-----\n(ssh-ed25519 \S+).*\n-----END SSH HOST KEY KEYS-----$",
    re.MULTILINE,
)
TOOLS = ("ab", "ethtool", "httperf", "iperf3", "ip", "nft", "nginx", "ping", "sysctl", "tc")


def test_every_service_answers_an_ordinary_user(cloud: Connection) -> None:
    found = inventory(cloud)
    of_tacker = {"Tacker's vnffgs", "Tacker's vnf instances", "Tacker's vnf packages"}
    assert {"servers", "port chains", "stacks", *of_tacker} <= found.keys()
    assert left_over(found, inventory(cloud)) == {}


def test_the_ordinary_user_is_no_administrator(cloud: Connection) -> None:
    from openstack.exceptions import ForbiddenException

    with pytest.raises(ForbiddenException):
        cloud.compute.create_flavor(name="mine", ram=64, vcpus=1, disk=1)


def test_tests_run_within_the_clouds_namespaces(cloud: Connection, admin: Connection) -> None:
    """Whose first process is its keeper; that nothing of it is seen outside is tested there
    (test_keeper)."""
    assert list(admin.compute.hypervisors())
    assert "supervisord" in Path("/proc/1/cmdline").read_text()
    for kind in ("net", "mnt", "pid", "uts", "ipc"):
        assert Path(f"/proc/self/ns/{kind}").readlink() == Path(f"/proc/1/ns/{kind}").readlink()


def test_a_guest_boots_and_is_reached_by_its_pinned_key(
    cloud: Connection, leftovers: None, tmp_path: Path
) -> None:
    with booted(cloud, "sfcperf-guest", "sfcperf.tiny", SCRIPT, tmp_path) as guest:
        said = guest.says(lambda text: "user's script done" in text)
        assert "address at the script: 1" in said
        key = KEY.search(said)
        assert key is not None, said
        guest.pin(key[1])
        which = guest.answers(f"for t in {' '.join(TOOLS)}; do command -v $t; done").split()
        assert which == [f"/usr/bin/{tool}" for tool in TOOLS]
        # What comes on demand: modules of the kernel.
        guest.answers("nft add table inet t && tc qdisc add dev eth0 clsact && ls /dev/net/tun")
        guest.pin(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGrrFyubiuMfQzX2QNSV9KVciq20y2E7mNVZLnJmTH8c"
        )
        refused = guest.ssh("true")
        assert refused.returncode == 255
        assert "Host key verification failed" in refused.stderr


@pytest.mark.exhaustive
def test_the_tiny_guest_has_a_shell_and_iperf3_only(
    cloud: Connection, leftovers: None, tmp_path: Path
) -> None:
    with booted(cloud, "sfcperf-tiny", "sfcperf.nano", SCRIPT, tmp_path) as guest:
        guest.says(lambda text: "address at the script: 1" in text)
        assert guest.answers("command -v iperf3").strip() == "/usr/bin/iperf3"
        assert guest.ssh("command -v nginx || command -v python3").returncode == 127
        assert "BusyBox" in guest.answers("ping 2>&1 | head -n 1")
