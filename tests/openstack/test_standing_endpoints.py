"""Endpoints that are machines of their own, reached by SSH, with a neutron port in the cloud
(the paper's physical machines), and a function in a VM between them."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.cloud.cloud_runs import CloudLab, workflow
from support.network.ssh_servers import SshServer, lacking, openssh

pytestmark = [pytest.mark.exhaustive, pytest.mark.skipif(bool(lacking()), reason=lacking())]

HOST = "sfcperf-node"
"""`host` of the project's own cloud, to which ports are bound."""
PREFIX = "10.199.7.0/24"
_numbers = itertools.count()


@dataclass(frozen=True)
class Standing:
    """A machine, and the port by which it is in the cloud."""

    server: SshServer
    port: Any

    @property
    def options(self) -> dict[str, Any]:
        return {
            "machine": {
                "address": self.server.address,
                "host_key": self.server.host_key,
                "key_file": str(self.server.key),
                "interface": "data",
                "port": self.port.name,
            }
        }


@pytest.fixture
def standing(admin: Any, leftovers: None, tmp_path: Path) -> Iterator[dict[str, Standing]]:
    """Two machines in one network of the cloud."""
    name = f"standing-{os.getpid()}-{next(_numbers)}"
    with ExitStack() as stack:
        network = admin.network.create_network(name=name, is_port_security_enabled=False)
        stack.callback(admin.network.delete_network, network)
        admin.network.create_subnet(
            network_id=network.id, ip_version=4, cidr=PREFIX, gateway_ip=None, is_dhcp_enabled=False
        )
        yield {
            end: _machine(stack, admin, network, f"{name}-{end}", tmp_path / end)
            for end in ("client", "server")
        }


def _machine(stack: ExitStack, admin: Any, network: Any, name: str, folder: Path) -> Standing:
    folder.mkdir()
    server = stack.enter_context(openssh(folder))
    port = admin.network.create_port(
        network_id=network.id,
        name=name,
        device_id=name,
        device_owner="compute:lab",
        binding_host_id=HOST,
    )
    stack.callback(admin.network.delete_port, port)
    tap = f"tap{port.id[:11]}"
    _ip("link", "add", tap, "type", "veth", "peer", "name", "data", "netns", server.namespace)
    stack.callback(_ovs, "--if-exists", "del-port", "br-int", tap)
    _ip("link", "set", tap, "up")
    within = ("-n", server.namespace)
    _ip(*within, "link", "set", "data", "address", port.mac_address, "mtu", "1400", "up")
    _ip(*within, "addr", "add", f"{port.fixed_ips[0]['ip_address']}/24", "dev", "data")
    for where in ((), ("ip", "netns", "exec", server.namespace)):
        # Open vSwitch in userspace takes frames as they are: with unfinished checksums.
        device = "data" if where else tap
        _run(*where, "ethtool", "-K", device, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
    outside = (f"external_ids:iface-id={port.id}", f"external_ids:attached-mac={port.mac_address}")
    _ovs("add-port", "br-int", tap, "--", "set", "Interface", tap, *outside)
    return Standing(server, port)


def _ovs(*argv: str) -> None:
    _run("ovs-vsctl", "--timeout=10", *argv)


def _ip(*argv: str) -> None:
    _run("ip", *argv)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def test_machines_that_stand_already_are_endpoints(
    new_lab: Callable[..., CloudLab], standing: dict[str, Standing]
) -> None:
    """The VNF's VM is made in their network, its chain is proven crossed, and afterwards they are
    as they were."""
    there = set(_workdirs())
    before = {end: _state(each.server) for end, each in standing.items()}
    ends = {end: {"options": each.options} for end, each in standing.items()}
    document = workflow(os.environ.get("OS_CLOUD", "sfcperf")) | {
        "endpoints": ends,
        "factors": {"protocol": ["any"]},
        "probes": [{"probe": "ping", "count": 5, "interval_s": 0.2}, {"probe": "iperf3"}],
    }
    lab = new_lab(document)
    # Such a machine often serves iperf3 already, at its usual port.
    space = standing["server"].server.namespace
    other = subprocess.Popen(
        ["ip", "netns", "exec", space, "iperf3", "-s"], stdout=subprocess.DEVNULL
    )
    try:
        assert lab.run() == 0, lab.said
        assert {status for _, status in lab.trials} == {"valid"}, lab.said
    finally:
        other.terminate()
        other.wait()
    assert {end: _state(each.server) for end, each in standing.items()} == before
    for each in standing.values():
        assert not each.server.processes()
    assert not set(_workdirs()) - there


def _workdirs() -> list[Path]:
    """Of runs on these machines, which have this one's file system."""
    return [path for end in ("client", "server") for path in Path("/tmp").glob(f"sfcperf-*-{end}")]


def _state(server: SshServer) -> str:
    """Addresses, links, routes; neighbours come and go by themselves."""
    argv = ["ip", "-n", server.namespace]
    said = [
        subprocess.run([*argv, *what], check=True, capture_output=True, text=True).stdout
        for what in (("-4", "-o", "addr"), ("route",))
    ]
    return "\n".join(said)
