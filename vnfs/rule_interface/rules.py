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
"""Name -> number (IANA) of protocols that may be named."""
_WITH_PORTS = frozenset(PROTOCOLS[name] for name in ("tcp", "udp", "dccp", "sctp", "udplite"))
"""Protocols whose headers begin with two ports."""

End = tuple[str, int]
"""One end of a flow: address and port."""


class Flow(NamedTuple):
    """A flow by its 5-tuple, both directions. Ends are in ascending order, so that each flow has
    one form; see `flow`."""

    protocol: int
    low: End
    high: End

    @property
    def version(self) -> int:
        """Version of IP: 4 or 6."""
        return version(self.low[0])


class Source(NamedTuple):
    """All that comes from an address; `address` is in canonical text."""

    address: str

    @property
    def version(self) -> int:
        """Version of IP: 4 or 6."""
        return version(self.address)


Rule = Flow | Source


def has_ports(protocol: int) -> bool:
    """Whether flows of a protocol have ports; those of others have ports 0."""
    return protocol in _WITH_PORTS


def version(address: str) -> int:
    """Return the version of IP, 4 or 6, of an address."""
    return 6 if ":" in address else 4


def canonical(address: str) -> str:
    """Return an address in the one form that rules have (RFC 5952). Raises ValueError if it is no
    address."""
    # IPv4 addresses have one form, and need no ipaddress, which would take most of the time when
    # many rules are set at once. IPv6 addresses have several; for some of them inet_ntop(3) gives
    # another one than ipaddress.
    with suppress(OSError):
        socket.inet_pton(socket.AF_INET, address)
        return address
    if "%" in address:
        raise ValueError("an address has no zone")
    return str(ipaddress.ip_address(address))


def flow(protocol: int, source: End, other: End) -> Flow:
    """Return the flow between two ends, whose addresses are canonical. Raises ValueError when there
    is no such flow."""
    if version(source[0]) != version(other[0]):
        raise ValueError("both addresses must be IPv4, or both IPv6")
    if not has_ports(protocol) and (source[1] or other[1]):
        raise ValueError(f"flows of protocol {protocol} have no ports: both must be 0")
    low, high = sorted((source, other))
    return Flow(protocol, low, high)
