"""Functions that forward by the kernel, between two interfaces each, and a switch that steers
packets through them by flows, as networking-sfc does: all in namespaces of this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch, create_database
from sfcperf.hosts.namespace import LocalHost, NamespaceHost
from sfcperf.management.deployment import Endpoint, ServiceFunction
from sfcperf.vnfs.kernel_forwarding import ip_counters
from support.network.wires import Lab, Port, ip, space

ADDRESSES = {"client": "198.18.0.1", "server": "198.18.0.2"}  # RFC 2544
BRIDGE = "br0"


@dataclass(frozen=True)
class Flow:
    """Packets to an endpoint that come out of one port go into another: `fwd-1-out`, `server`."""

    to: str
    out_of: str
    into: str
    only: str = ""
    """Further match of OpenFlow, before flows without: `nw_ttl=62`."""


class Steered:
    """Two endpoints and some functions, all plugged into one switch."""

    def __init__(self, lab: Lab, functions: Sequence[str]) -> None:
        self._lab = lab
        self._switch = lab.host("switch")
        self._ports: dict[str, Port] = {}
        self._numbers: dict[str, int] = {}
        self.hosts: dict[str, NamespaceHost] = {}
        for end in ADDRESSES:
            self._plug(end, end, "eth1")
        for name in functions:
            self._plug(name, f"{name}-in", "eth1")
            self._plug(name, f"{name}-out", "eth2")
        for end, other in (("client", "server"), ("server", "client")):
            self._address(end, other)
        for name in functions:
            self._forward(name)
        self.functions = tuple(
            self._function(name, place) for place, name in enumerate(functions, start=1)
        )
        self._start()

    @property
    def endpoints(self) -> tuple[Endpoint, Endpoint]:
        """Client and server."""
        client, server = (
            Endpoint(end, "node1", self.hosts[end], address, "eth1", 1500)
            for end, address in ADDRESSES.items()
        )
        return client, server

    @property
    def macs(self) -> Mapping[str, str]:
        """Of the endpoints' interfaces."""
        return {end: self._ports[end].mac for end in ADDRESSES}

    def steer(self, forward: Sequence[str], reverse: Sequence[str]) -> None:
        """Through functions in this order, each in by its `in` and out by its `out`; the reverse
        path names them in the order in which replies cross them, the other way round."""
        flows = line("server", ["client", *through(forward, "in", "out"), "server"])
        flows += line("client", ["server", *through(reverse, "out", "in"), "client"])
        self._ovs.add_flows(BRIDGE, ["delete"])
        self.add(flows)

    def add(self, flows: Sequence[Flow]) -> None:
        """Steer otherwise."""
        self._ovs.add_flows(
            BRIDGE,
            [
                f"priority={20 if flow.only else 10},in_port={self._numbers[flow.out_of]},ip,"
                f"nw_dst={ADDRESSES[flow.to]}{flow.only and ','}{flow.only},actions="
                f"set_field:{self._ports[flow.into].mac}->eth_dst,"
                f"output:{self._numbers[flow.into]}"
                for flow in flows
            ],
        )

    def _plug(self, name: str, port: str, interface: str) -> None:
        host = self.hosts.get(name) or self._lab.host(name)
        self.hosts[name] = host
        number = len(self._numbers) + 1
        self._ports[port], _ = self._lab.join((host, interface), (self._switch, f"p{number}"))
        self._numbers[port] = number

    def _address(self, end: str, other: str) -> None:
        here = space(self.hosts[end])
        ip("-n", here, "address", "add", f"{ADDRESSES[end]}/24", "dev", "eth1")
        self._neighbour(here, other, "eth1")

    def _forward(self, name: str) -> None:
        here = space(self.hosts[name])
        settings = ["net/ipv4/ip_forward=1"]
        settings += [f"net/ipv4/conf/{scope}/rp_filter=0" for scope in ("all", "eth1", "eth2")]
        settings += [f"net/ipv4/conf/{scope}/send_redirects=0" for scope in ("all", "eth1")]
        self.hosts[name].run(["sysctl", "-q", "-w", *settings], timeout_s=10)
        for end, interface in (("client", "eth1"), ("server", "eth2")):
            ip("-n", here, "route", "add", ADDRESSES[end], "dev", interface, "scope", "link")
            self._neighbour(here, end, interface)

    def _neighbour(self, here: str, end: str, interface: str) -> None:
        mac = self._ports[end].mac
        entry = [ADDRESSES[end], "lladdr", mac, "nud", "permanent", "dev", interface]
        ip("-n", here, "neighbour", "replace", *entry)

    def _start(self) -> None:
        # Sockets of Open vSwitch need a short path.
        folder = Path(tempfile.mkdtemp(prefix="sfcperf-ovs-"))
        self._lab.at_end(lambda: shutil.rmtree(folder))
        empty = folder / "empty.db"
        create_database(LocalHost(folder), empty)
        self._ovs = OpenVSwitch(self._switch, folder)
        self._lab.at_end(self._ovs.stop)
        self._ovs.start(empty)
        self._ovs.configure(
            {BRIDGE: "02:00:00:00:ff:01"},
            [Interface(BRIDGE, f"p{number}", number) for number in self._numbers.values()],
        )

    def _function(self, name: str, place: int) -> ServiceFunction:
        return ServiceFunction(
            name=name,
            vnf=name,
            type="router",
            position=place,
            node="node1",
            host=self.hosts[name],
            interfaces=("eth1", "eth2"),
            nsh_aware=False,
            vcpus=(),
            counters=lambda: {"forwarded": ip_counters(self.hosts[name])["ForwDatagrams"]},
            alive=lambda: None,
        )


def through(functions: Sequence[str], entry: str, exit: str) -> list[str]:
    """Ports that are met one after the other."""
    return [f"{name}-{side}" for name in functions for side in (entry, exit)]


def line(to: str, ports: Sequence[str]) -> list[Flow]:
    """Flows along ports: out of one, into the next, and the function carries on from there."""
    return [Flow(to, out_of, into) for out_of, into in zip(ports[::2], ports[1::2], strict=True)]
