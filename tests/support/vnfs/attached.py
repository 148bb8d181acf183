"""How functions are attached to their chain: what a driver tells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.forwarder.function import attach_pass
from sfcperf.workflow.defaults import with_defaults
from support.network.wires import Lab, Port, ip, space
from support.vnfs.forwarder_bench import SF_ADDRESS, Bench

B = TypeVar("B", bound=Bench)
End = tuple[str, Port]
"""IPv4 address and interface of an endpoint."""


def veth_to_sff(lab: Lab) -> list[Port]:
    """A veth between an SFF and a function, which has an address."""
    sff, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    ip("-n", space(sf.host), "address", "add", f"{SF_ADDRESS}/24", "dev", sf.interface)
    return [sff, sf]


def started_behind_sff(
    lab: Lab,
    kind: type[NetworkFunction],
    name: str,
    knobs: Mapping[str, Any],
    bench: Callable[..., B] = Bench,
    **others: Any,
) -> B:
    """A bench of a running function that takes NSH on Ethernet. `others`: see `behind_sff`."""
    sff, sf = veth_to_sff(lab)
    known = with_defaults(kind.parameters, knobs)
    if kind.peer_needs_xdp(known):
        attach_pass(sff.host, [sff.interface])
    function = kind.start(sf.host, behind_sff(name, sf, lab.outputs, **others), known)
    lab.at_end(function.stop)
    wire = sff.wire()
    lab.at_end(wire.close)
    return bench(function, wire, sff, sf)


def behind_sff(name: str, sf: Port, outputs: Path, **others: Any) -> Attachment:
    """Of a function that takes NSH on Ethernet; `others` are further attributes."""
    usual = Attachment(
        name=name,
        interfaces=(sf.interface,),
        macs=(sf.mac,),
        encapsulation="nsh-eth",
        address=None,
        client=("", ""),
        server=("", ""),
        vcpus=(),
        mtu=1500,
        outputs=outputs,
    )
    return replace(usual, **others)


def between_ends(
    name: str,
    client: End,
    ingress: Port,
    egress: Port,
    server: End,
    outputs: Path,
    **others: Any,
) -> Attachment:
    """Of a function that takes plain IP."""
    usual = Attachment(
        name=name,
        interfaces=(ingress.interface, egress.interface),
        macs=(ingress.mac, egress.mac),
        encapsulation="none",
        address=None,
        client=(client[0], client[1].mac),
        server=(server[0], server[1].mac),
        vcpus=(),
        mtu=1500,
        outputs=outputs,
    )
    return replace(usual, **others)
