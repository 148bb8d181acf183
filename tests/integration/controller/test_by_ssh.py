"""The controller, a switch here, and one on another machine, which it reaches by SSH."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer, new_key
from support.network.wires import eventually
from support.sfcmon.controller_bench import CROSSINGS, Switches, by_ssh
from support.sfcmon.controller_process import ControllerProcess
from support.sfcmon.controller_states import two_switches

from sfcperf.hosts.carry import equip
from sfcperf.hosts.ssh import SshAccess, SshHost
from sfcperf.vnfs.sfcmon.bmv2.switch import BINARY

pytestmark = [
    pytest.mark.root,
    pytest.mark.bmv2,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
]

ALL = {"eval_packets": 0, "share": 0.0, "packets": 0}
"""Thresholds that every packet meets."""
FLOWS = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """The controller logs in as a user without rights."""
    folder = tmp_path_factory.mktemp("machine")
    with ssh_servers.openssh(folder, user=ssh_servers.LOGIN, sudo=False) as made:
        yield made


@pytest.fixture(scope="module")
def switches(server: SshServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switches]:
    """Root has started s2."""
    folder = tmp_path_factory.mktemp("workdir")
    access = SshAccess(server.address, server.key, (server.host_key,), "root")
    host = SshHost("s2", access, folder)
    try:
        equip(host, [BINARY])
        with Switches((server, host)) as made:
            yield made
    finally:
        host.close()


@pytest.fixture
def controller(switches: Switches) -> Iterator[ControllerProcess]:
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    made = ControllerProcess(folder)
    made.request("PUT", "/state", switches.state(window_ms=3_600_000, thresholds=ALL))
    assert eventually(made.in_sync, 20), made.request("GET", "/status")
    yield made
    assert made.end() == (0, "")
    shutil.rmtree(folder)


def windows(controller: ControllerProcess) -> dict[str, int]:
    """End the open window of each switch; the packets of its flows."""
    packets = {}
    for name in ("s1", "s2"):
        ended = controller.request("POST", f"/switches/{name}/windows")
        packets[name] = sum(flow["packets"] for flow in ended["flows"])
        assert packets[name] == ended["packets"]
    return packets


def collecting(controller: ControllerProcess) -> bool:
    """Whether windows of all switches are open."""
    switches = controller.request("GET", "/status")["switches"]
    return all(each["monitoring"]["problem"] is None for each in switches.values())


def test_windows_have_each_packet_once(switches: Switches, controller: ControllerProcess) -> None:
    """Before the connection is lost and afterwards."""
    assert eventually(lambda: collecting(controller), 20), controller.request("GET", "/status")
    windows(controller)
    for _ in range(2):
        with switches.traffic(FLOWS) as traffic:
            traffic.wait_for(10 * FLOWS)
            assert eventually(lambda: len(controller.request("GET", "/switches/s2/flows")) > 0, 20)
        expected = CROSSINGS * traffic.sent
        assert windows(controller) == {"s1": expected, "s2": expected}
        assert switches.far is not None
        # Not the connection of root, with which the switch would end.
        switches.far[0].cut_connections(ssh_servers.LOGIN_ID)
        assert eventually(lambda: _problem(controller) is not None, 20)
        assert eventually(controller.in_sync, 20), controller.request("GET", "/status")
        assert eventually(lambda: collecting(controller), 20)


def test_the_status_says_why_a_machine_is_not_reached(server: SshServer, tmp_path: Path) -> None:
    """Its host key is another one; there is no private key; nothing listens there."""
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    made = ControllerProcess(folder)
    switch = two_switches()["switches"]["s2"] | {"ports": {}} | by_ssh(server.access)
    other_key = new_key(tmp_path / "other")
    for change, problem in (
        ({"ssh": switch["ssh"] | {"host_key": other_key}}, "another host key than the pinned one"),
        ({"ssh": switch["ssh"] | {"key_file": "/nowhere"}}, "/nowhere"),
        ({"p4runtime": "127.0.0.1:1"}, "it does not answer"),
    ):
        made.request("PUT", "/switches/s2", switch | change)
        assert eventually(lambda: problem in str(_problem(made))), _problem(made)  # noqa: B023
    assert made.end() == (0, "")
    shutil.rmtree(folder)


def _problem(controller: ControllerProcess) -> Any:
    return controller.request("GET", "/status")["switches"]["s2"]["problem"]
