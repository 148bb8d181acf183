"""Counts how many frames of a capture were left out, and why."""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.counts import count_text
from sfcperf.packets.ethernet import IPV4, IPV6, network_layer

_ETHERTYPE = "ethertype_0x"
_HEADERS, _LENGTH_0 = "headers", "ipv4_length_0"
_WORDS = {
    _HEADERS: "headers that are cut off or contradict the packet",
    _LENGTH_0: "IPv4 length 0, as before a network card divides packets (TSO)",
    "nsh": "an NSH that is damaged or carries no IP packet",
    "training": "flows that train",
    "not_ipv4": "no IPv4 packet",
    "martian": "an address that no router forwards",
    "endpoint_addresses": "an address of the chain's endpoints",
}
_PROTOCOLS = {
    0x0806: "ARP", 0x8035: "RARP", 0x8809: "LACP", 0x888E: "EAPOL", 0x88CC: "LLDP",
    0x9000: "loopback",
}  # fmt: skip
"""EtherTypes of protocols that carry no packets of users."""
_CARRIERS = {
    0x8847: "MPLS", 0x8848: "MPLS", 0x8863: "PPPoE", 0x8864: "PPPoE", 0x88E5: "MACsec",
    0x8100: "VLAN tag", 0x88A8: "VLAN tag", 0x9100: "VLAN tag",
}  # fmt: skip
"""EtherTypes of frames that may carry packets of users, behind a header that no reader knows."""
_LEAST_ETHERTYPE = 0x0600
"""Least EtherType. Smaller numbers are lengths (IEEE 802.3), in frames that bridges send."""
_MOST_SHOWN = 5
_MOST_UNREAD = 0.01
"""Largest share of the frames that may be unread without making a result doubtful."""


class LeftOutCounts(dict[str, int]):
    """Number of frames that were left out, by reason. Programs that read captures give the reasons
    `headers`, `ipv4_length_0`, `nsh`, and `ethertype_0x8847` with any EtherType."""

    def add(self, reason: str, count: int = 1) -> None:
        """Count frames that were left out for a reason."""
        self[reason] = self.get(reason, 0) + count

    @property
    def unread(self) -> int:
        """Return how many of the frames may carry packets of users, but could not be read."""
        return sum(count for reason, count in self.items() if _is_unread(reason))

    def lines(self, frames: int) -> Iterator[str]:
        """Give a line of text that says what was left out of so many frames; no line if nothing
        was."""
        counts = sorted(((n, reason) for reason, n in self.items() if n), key=lambda pair: -pair[0])
        if not counts:
            return
        if len(counts) == 1:
            reasons = [_words(counts[0][1])]
        else:
            reasons = [f"{count} with {_words(reason)}" for count, reason in counts[:_MOST_SHOWN]]
        if rest := sum(count for count, _ in counts[_MOST_SHOWN:]):
            reasons.append(f"{rest} for other reasons")
        total = count_text(frames, "frame")
        yield f"{sum(self.values())} of {total} left out: {', '.join(reasons)}"

    def doubts(self, frames: int) -> Iterator[str]:
        """Say why a result that lacks the unread frames cannot be trusted. Nothing is said if they
        are at most 1 % of `frames`."""
        if self.unread > _MOST_UNREAD * frames:
            yield from LeftOutCounts({r: n for r, n in self.items() if _is_unread(r)}).lines(frames)


def reason_of(frame: bytes) -> str:
    """Return the reason why an Ethernet frame for which `flow_of` gives None belongs to no flow."""
    try:
        kind, at = network_layer(frame)
        if kind == IPV4 and not frame[at + 2] and not frame[at + 3]:
            return _LENGTH_0
    except IndexError:
        return _HEADERS
    return _HEADERS if kind in (IPV4, IPV6) else f"{_ETHERTYPE}{kind:04x}"


def _number(reason: str) -> int | None:
    """Return the EtherType that a reason names; None for a reason of another kind."""
    return int(reason.removeprefix(_ETHERTYPE), 16) if reason.startswith(_ETHERTYPE) else None


def _is_unread(reason: str) -> bool:
    """Whether frames that were left out for this reason may carry packets of users."""
    number = _number(reason)
    if number is None:
        return reason in (_HEADERS, _LENGTH_0, "nsh")
    return number >= _LEAST_ETHERTYPE and number not in _PROTOCOLS


def _words(reason: str) -> str:
    """Return a reason in words, for people. They complete `3 frames left out: ...`."""
    number = _number(reason)
    if number is None:
        return _WORDS[reason]
    if number < _LEAST_ETHERTYPE:
        return "no EtherType (IEEE 802.3)"
    name = _PROTOCOLS.get(number) or _CARRIERS.get(number)
    return f"EtherType 0x{number:04x}" + (f" ({name})" if name else "")
