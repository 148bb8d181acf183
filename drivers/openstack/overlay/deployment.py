"""OverlayDeployment: a scenario on guests whose own SFFs make the chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.overlay.node import TOOLS, OverlayNode
from sfcperf.drivers.openstack.overlay.unshown import cross_unshown
from sfcperf.drivers.openstack.scenario_deployment import (
    Attached,
    EndpointInterface,
    ScenarioDeployment,
)
from sfcperf.drivers.sff.layout import Layout
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.model import FunctionSpec

_CHAINED_BY = "SFFs in the VMs, over VXLAN-GPE"


@dataclass(eq=False, kw_only=True)
class OverlayDeployment(ScenarioDeployment):
    """Guests that are nodes of an overlay. All SFFs know the whole chain from their start: there is
    nothing to make in the cloud."""

    layout: Layout
    nodes: dict[str, OverlayNode] = field(default_factory=dict)
    """Nodes that were launched, by instance."""

    def prepare(self) -> None:
        """Start SFFs and functions in all guests at the same time. Raises DeploymentError."""
        super().prepare()
        chain = self.scenario.chain
        if chain.functions:
            self.chain = {
                "chained_by": _CHAINED_BY,
                "correlation": "nsh",
                "symmetric": chain.reverse == "symmetric",
            }

    def endpoint_interface(self, name: str) -> EndpointInterface:
        """Return the interface behind the SFF of `client` or `server`."""
        port = self.layout.client if name == "client" else self.layout.server
        return EndpointInterface(port.inner, port.mac, port.address)

    def interfaces(self, function: str) -> tuple[str, ...]:
        """Return the interfaces of a function behind its SFF."""
        return tuple(port.inner for port in self.layout.ports(function))

    def sff_ports(self, instance: str) -> tuple[str, ...]:
        """Return the SFF's ends of the attachments of an endpoint or function."""
        return tuple(port.outer for port in self.layout.ports(instance))

    def gets_nsh(self, function: str) -> bool:
        """Whether a function gets NSH packets: all do that take them."""
        return any(f.type.nsh_aware for f in self.layout.functions if f.spec.name == function)

    def cross_unshown(self, made: Deployment) -> list[str]:
        """Send marked packets that are not shown to captures, and compare the SFFs' counters."""
        return cross_unshown(self.layout, self.scenario, self.sffs, made)

    def facts(self) -> Mapping[str, Any]:
        """Return the MTU of the network cards, and how SFFs are attached to them."""
        cards = self.layout.lan
        return {
            "wire_mtu": self.layout.wire_mtu,
            "underlay": {
                name: {"interface": cards[name], "xdp": node.card_xdp}
                for name, node in self.nodes.items()
            },
        }

    def _attach_endpoint(self, name: str, guest: Guest) -> None:
        self._launch(name, guest)

    def _attach_function(self, spec: FunctionSpec, guest: Guest) -> Attached:
        self._launch(spec.name, guest)
        ports = self.layout.ports(spec.name)
        aware = self.gets_nsh(spec.name)
        return Attached(
            tuple(port.inner for port in ports),
            tuple(port.mac for port in ports),
            "nsh-eth" if aware else "none",
            self.layout.nodes[spec.name].mac if aware else None,
        )

    def _launch(self, name: str, guest: Guest) -> None:
        """Make a guest a node of the overlay."""
        node = OverlayNode(guest.host, self.layout, self.scenario, name, self.config.mtu)
        node.launch()
        self.nodes[name], self.sffs[name] = node, node.sff

    def _stopped(self) -> tuple[dict[str, Any], ...]:
        return self.running, self.nodes

    def _own_tools(self) -> tuple[str, ...]:
        return TOOLS
