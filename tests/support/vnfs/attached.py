"""How functions are attached to their chain: what a driver tells them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.vnfs.base import Attachment
from support.network.wires import Lab, Port, ip, space
from support.vnfs.forwarder_bench import SF_ADDRESS

End = tuple[str, Port]
"""IPv4 address and interface of an endpoint."""


def veth_to_sff(lab: Lab) -> list[Port]:
    """A veth between an SFF and a function, which has an address."""
    sff, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    ip("-n", space(sf.host), "address", "add", f"{SF_ADDRESS}/24", "dev", sf.interface)
    return [sff, sf]


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
