"""The layout of an overlay: each VM is a node, with an SFF and one endpoint or function.

The network card of a VM is a port of its SFF: the kernel has no address there, and the SFF sends
from the addresses that the cloud gave the VM. All VMs are in one network and know one another's
addresses. Behind the SFF, the endpoint or function has interfaces of its own (veth pairs), so that
it is attached as on the local driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf.dataplane.port_pair import FUNCTION_INTERFACE
from sfcperf.drivers.sff.layout import (
    EndpointPort,
    FunctionLayout,
    Layout,
    NodeLayout,
    Port,
    mac_address,
)
from sfcperf.vnfs.base import function_type
from sfcperf.workflow.model import FunctionSpec, Scenario

ENDPOINT_INTERFACE = "sfc-data"
"""Interface of an endpoint in its VM."""
PLAIN_INTERFACES = ("sfc-in", "sfc-out")
"""Interfaces of a function that takes plain IP, in its VM; one that takes NSH has
FUNCTION_INTERFACE."""


@dataclass(frozen=True)
class Nic:
    """The network card of a VM in the data network."""

    interface: str
    mac: str
    address: str
    """IPv4 address of its neutron port."""


def lay_out(scenario: Scenario, tag: str, nics: Mapping[str, Nic], wire_mtu: int) -> Layout:
    """Return the layout of a scenario in the run with this tag. `nics`: instance (`client`,
    `fwd-1`) -> network card of its VM; `wire_mtu`: of these, bytes of IP packet."""
    client, server = (
        EndpointPort(
            instance=spec.name,
            node=spec.name,
            ofport=number,
            outer=_outer(ENDPOINT_INTERFACE),
            inner=ENDPOINT_INTERFACE,
            mac=mac_address(tag, 1, number),
            address=nics[spec.name].address,
        )
        for number, spec in enumerate((scenario.client, scenario.server), start=1)
    )
    return Layout(
        nodes={
            name: NodeLayout(
                name=name,
                address=nic.address,
                mac=nic.mac,
                next_hop={other: other for other in nics if other != name},
            )
            for name, nic in nics.items()
        },
        links=(),
        lan={name: nic.interface for name, nic in nics.items()},
        client=client,
        server=server,
        functions=tuple(_function(spec, tag) for spec in scenario.chain.functions),
        encapsulation="nsh-eth" if scenario.chain.functions else "none",
        wire_mtu=wire_mtu,
    )


def _function(spec: FunctionSpec, tag: str) -> FunctionLayout:
    """Return a function with its attachments: one if it takes NSH, else its ingress and egress."""
    kind = function_type(spec)
    names = (FUNCTION_INTERFACE,) if kind.nsh_aware else PLAIN_INTERFACES
    ports = tuple(
        Port(
            instance=spec.name,
            node=spec.name,
            ofport=number,
            outer=_outer(name),
            inner=name,
            mac=mac_address(tag, 2, 2 * spec.position + number),
            address=None,
        )
        for number, name in enumerate(names, start=1)
    )
    return FunctionLayout(spec, kind, ports)


def _outer(inner: str) -> str:
    """Return the name of the SFF's end of an attachment: `sff-in` of `sfc-in`."""
    return inner.replace("sfc-", "sff-")
