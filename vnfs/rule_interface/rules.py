"""A rule: packets of a flow, or from a source, are dropped until its time is over."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from typing import NamedTuple

PROTOCOLS = {
    "tcp": 6,
    "udp": 17,
    "dccp": 33,
    "sctp": 132,
    "udplite": 136,
    "icmp": 1,
    "icmpv6": 58,
}
"""Name -> number (IANA) of the protocols that requests may name."""
_WITH_PORTS = frozenset(PROTOCOLS[name] for name in ("tcp", "udp", "dccp", "sctp", "udplite"))
"""Protocols whose headers begin with two ports."""

End = tuple[str, int]
"""Address and port of one end of a flow."""


class Flow(NamedTuple):
    """A flow by its 5-tuple, in both directions. The ends are in ascending order, so that each
    flow has one form; see `flow`."""

    protocol: int
    low: End
    high: End

    @property
    def version(self) -> int:
        """Version of IP, 4 or 6."""
        return version(self.low[0])


class Source(NamedTuple):
    """All packets from an address. `address` is in canonical text."""

    address: str

    @property
    def version(self) -> int:
        """Version of IP, 4 or 6."""
        return version(self.address)


Rule = Flow | Source


def has_ports(protocol: int) -> bool:
    """Say whether flows of a protocol have ports. Rules for other protocols have ports 0."""
    return protocol in _WITH_PORTS


def version(address: str) -> int:
    """Return the version of IP that an address is of, 4 or 6."""
    return 6 if ":" in address else 4


def canonical(address: str) -> str:
    """Return an address in the form that rules have (RFC 5952). Raises ValueError."""
    # IPv4 is checked by the C library: when many rules are set at once, ipaddress would take most
    # of the time. IPv4 addresses have one form, so that is enough. For IPv6, inet_ntop(3) writes
    # some addresses in another form than ipaddress.
    with suppress(OSError):
        socket.inet_pton(socket.AF_INET, address)
        return address
    if "%" in address:
        raise ValueError("an address has no zone")
    return str(ipaddress.ip_address(address))


def flow(protocol: int, source: End, other: End) -> Flow:
    """Return the flow between two ends, whose addresses are canonical. Raises ValueError when
    there is no such flow."""
    if version(source[0]) != version(other[0]):
        raise ValueError("both addresses must be IPv4, or both IPv6")
    if not has_ports(protocol) and (source[1] or other[1]):
        raise ValueError(f"flows of protocol {protocol} have no ports: both must be 0")
    low, high = sorted((source, other))
    return Flow(protocol, low, high)
