"""Data plane `ovs`: an Open vSwitch of its own per node, in userspace, with NSH by OpenFlow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfcperf.drivers.local import network
from sfcperf.drivers.local.layout import TUNNEL_PORT, LocalLayout, LocalNode
from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch
from sfcperf.drivers.local.sff.flows import UNPARSED_COOKIE, sff_flows, underlay_flows
from sfcperf.drivers.local.sff.watched_ports import watched_ports
from sfcperf.drivers.sff.base import Sff
from sfcperf.drivers.sff.layout import Port
from sfcperf.hosts.base import Host
from sfcperf.workflow.model import Scenario

UNDERLAY_GATEWAY = "10.254.0.254"
"""Address of each node's bridge in the network of SFs that are reached by VXLAN-GPE."""


class OpenVSwitchSff(Sff):
    """Bridge `sff`, and where there are tunnels, bridge `und` below it (see flows.py)."""

    def __init__(
        self,
        host: Host,
        node: LocalNode,
        layout: LocalLayout,
        scenario: Scenario,
        empty_database: Path,
    ) -> None:
        super().__init__(host, node, layout, scenario)
        self._namespace = node.namespace
        self._switch = OpenVSwitch(host, node.folder)
        self._empty_database = empty_database

    def start(self) -> None:
        """Start ovsdb-server, with a copy of the empty database, and ovs-vswitchd."""
        self._switch.start(self._empty_database)

    def connect(self) -> None:
        """Create the bridge `sff`, and `und` if there are tunnels, with their ports, and install
        the OpenFlow rules. Raises DeploymentError."""
        node, layout = self.node, self.layout
        tunnelled = layout.tunnelled_ports(node.name)
        bridges = {"sff": node.mac}
        interfaces = [
            Interface("und" if port in tunnelled else "sff", port.outer, port.ofport)
            for port in layout.ports(node.name)
        ]
        if layout.needs_underlay:
            # Other nodes send to the node's MAC address, so it belongs to the underlay.
            bridges = {"und": node.mac, "sff": _other(node.mac)}
            interfaces += self._underlay_interfaces()
        self._switch.configure(bridges, interfaces)
        if layout.needs_underlay:
            self._underlay(tunnelled)
        self._switch.add_flows("sff", sff_flows(layout, self.scenario, node.name))

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """Return, for each (SPI, SI), the packet count of its rule in table 10 of bridge `sff`."""
        return self._switch.packets_by_path("sff")

    def unparsed(self) -> int:
        """Return how many packets the rules for unparsed frames have dropped: 0 if such frames
        bypass the chain."""
        if self.scenario.chain.bypass_unparsed:
            return 0
        return self._switch.dropped("sff", UNPARSED_COOKIE)

    def watched_at(self) -> list[str]:
        """Return a word for each of the node's ports where packets arrive that the switch looks
        up."""
        return watched_ports(self.layout, self.scenario, self.node)

    @property
    def address(self) -> str:
        """Where bridge `sff` listens for OpenFlow controllers, `unix:/path`."""
        return self._switch.listens_at("sff")

    def begin(self, kind: str, collector: str, one_in: int) -> None:
        """Export sFlow or IPFIX from the bridge where all packets arrive: `und` if there are
        tunnels, else `sff`."""
        self._switch.export([self._outer_bridge], kind, collector, one_in)

    def end(self) -> None:
        """Stop the export of sFlow and IPFIX from the bridge where all packets arrive."""
        self._switch.end_export([self._outer_bridge])

    @property
    def _outer_bridge(self) -> str:
        """Name of the bridge where all packets arrive at the node."""
        return "und" if self.layout.needs_underlay else "sff"

    def problem(self) -> str | None:
        """Return None while ovsdb-server and ovs-vswitchd run, else which of them has ended."""
        return self._switch.problem()

    def stop(self) -> None:
        """Kill ovsdb-server and ovs-vswitchd."""
        self._switch.stop()

    def _underlay_interfaces(self) -> list[Interface]:
        """Return the port of all tunnels at bridge `sff`, and the node's links at bridge `und`,
        which keep their shapers."""
        options = (
            "type=vxlan",
            "options:exts=gpe",
            "options:packet_type=ptap",
            "options:remote_ip=flow",
            "options:dst_port=4790",
            f"options:local_ip={self.node.address}",
        )
        interfaces = [Interface("sff", "gpe", TUNNEL_PORT, options)]
        for link in self.layout.links:
            if self.node.name in link.nodes:
                end = link.nodes.index(self.node.name)
                name, ofport = link.interfaces[end], link.ofports[end]
                interfaces.append(Interface("und", name, ofport, own_qdisc=True))
        return interfaces

    def _underlay(self, tunnelled: list[Port]) -> None:
        """Give bridge `und` its addresses and flows, and the switch the MAC addresses of the ends
        of tunnels."""
        node, switch = self.node, self._switch
        network.add_address(self._namespace, "und", node.address, 24)
        if tunnelled:
            network.add_address(self._namespace, "und", UNDERLAY_GATEWAY, 24)
        switch.await_routes(["10.255.0.0/24", *(["10.254.0.0/24"] if tunnelled else [])])
        for destination in node.next_hop:
            # Nodes in between switch by IPv4 address: the frame keeps the last node's MAC.
            last = self.layout.nodes[destination]
            switch.set_neighbour("und", last.address, last.mac)
        for port in tunnelled:
            if port.address is not None:
                switch.set_neighbour("und", port.address, port.mac)
        switch.add_flows("und", underlay_flows(self.layout, node.name))


def _other(mac: str) -> str:
    """Return a second MAC address for a node, for its second bridge: the last octet has its highest
    bit set."""
    return mac[:-2] + f"{int(mac[-2:], 16) | 0x80:02x}"
