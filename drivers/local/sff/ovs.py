"""Data plane `ovs`: an Open vSwitch of its own per node, in userspace, with NSH by OpenFlow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfcperf.drivers.local import network
from sfcperf.drivers.local.layout import TUNNEL_PORT, Layout, NodeLayout, Port
from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch
from sfcperf.drivers.local.sff.base import Sff
from sfcperf.drivers.local.sff.flows import (
    UNPARSED_COOKIE,
    sff_flows,
    tunnelled_ports,
    underlay_flows,
)
from sfcperf.drivers.local.sff.watched_ports import watched_ports
from sfcperf.hosts.base import Host
from sfcperf.workflow.model import Scenario

UNDERLAY_GATEWAY = "10.254.0.254"
"""Address of each node's bridge in the network of SFs that are reached by VXLAN-GPE."""


class OpenVSwitchSff(Sff):
    """Bridge `sff`, and where there are tunnels, bridge `und` below it (see flows.py)."""

    def __init__(
        self,
        host: Host,
        node: NodeLayout,
        layout: Layout,
        scenario: Scenario,
        empty_database: Path,
    ) -> None:
        super().__init__(host, node, layout, scenario)
        self._switch = OpenVSwitch(host, node.folder)
        self._empty_database = empty_database

    def start(self) -> None:
        """See Sff.start."""
        self._switch.start(self._empty_database)

    def connect(self) -> None:
        """See Sff.connect."""
        node, layout = self.node, self.layout
        tunnelled = tunnelled_ports(layout, node.name)
        bridges = {"sff": node.mac}
        interfaces = [
            Interface("und" if port in tunnelled else "sff", port.outer, port.ofport)
            for port in layout.ports(node.name)
        ]
        if layout.needs_underlay:
            bridges = {"und": node.mac, "sff": _other(node.mac)}
            interfaces += self._underlay_interfaces()
        self._switch.configure(bridges, interfaces)
        if layout.needs_underlay:
            self._underlay(tunnelled)
        self._switch.add_flows("sff", sff_flows(layout, self.scenario, node.name))

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """See Sff.packets_by_path."""
        return self._switch.packets_by_path("sff")

    def unparsed(self) -> int:
        """See Sff.unparsed."""
        if self.scenario.chain.bypass_unparsed:
            return 0
        return self._switch.dropped("sff", UNPARSED_COOKIE)

    def watched_at(self) -> list[str]:
        """See Sff.watched_at."""
        return watched_ports(self.layout, self.scenario, self.node)

    @property
    def address(self) -> str:
        """Where it listens for OpenFlow controllers."""
        return self._switch.listens_at("sff")

    def begin(self, kind: str, collector: str, one_in: int) -> None:
        """See FlowExporter.begin. Of the bridge where all of the packets arrive."""
        self._switch.export([self._outer_bridge], kind, collector, one_in)

    def end(self) -> None:
        """See FlowExporter.end."""
        self._switch.end_export([self._outer_bridge])

    @property
    def _outer_bridge(self) -> str:
        return "und" if self.layout.needs_underlay else "sff"

    def problem(self) -> str | None:
        """See Sff.problem."""
        return self._switch.problem()

    def stop(self) -> None:
        """See Sff.stop."""
        self._switch.stop()

    def _underlay_interfaces(self) -> list[Interface]:
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
        node, switch = self.node, self._switch
        network.add_address(node.namespace, "und", node.address, 24)
        if tunnelled:
            network.add_address(node.namespace, "und", UNDERLAY_GATEWAY, 24)
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
    """A second address of a node, for its second bridge."""
    return mac[:-2] + f"{int(mac[-2:], 16) | 0x80:02x}"
