"""The 46 columns of a flow record: names, units, definitions, sources.

docs/reference/flow-features.md is made from this module; flow.c computes what it defines. The
columns are those of the SFCPerf paper (section VI), as flowtbag has them
(https://github.com/DanielArndt/flowtbag), then `dscp` and `class`.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_EARLY_PACKETS = 100
MOST_EARLY_FLOWS = 1000
PLACES = 16
"""Windows that a packet can be in at a time."""

FLOWTBAG = "flowtbag"
NETMATE = "flowtbag, after NetMate's module `flowstats`"
OWN = "SFCPerf"
"""Sources of features."""


@dataclass(frozen=True)
class Feature:
    """One column of a flow record."""

    name: str
    unit: str
    """Empty for a name, a number or a code."""
    definition: str
    source: str
    """Who defined it first; DIFFERENCES says where this definition is another."""


def _ends() -> list[Feature]:
    """Return the columns that name the flow: its two ends, and the protocol."""
    return [
        Feature(
            "srcip", "", "IP address of the client, which sent the flow's first packet.", FLOWTBAG
        ),
        Feature("srcport", "", "The client's port; 0 where a packet has none.", FLOWTBAG),
        Feature("dstip", "", "IP address of the server, the other end.", FLOWTBAG),
        Feature("dstport", "", "The server's port; 0 where a packet has none.", FLOWTBAG),
        Feature("proto", "", "IP protocol number, of IPv6 behind its extension headers.", FLOWTBAG),
    ]


def _totals() -> list[Feature]:
    """Return packets and bytes of each direction."""
    totals = []
    for letter, way in (("f", "from the client"), ("b", "from the server")):
        totals += [
            Feature(f"total_{letter}packets", "packets", f"Packets {way}.", NETMATE),
            Feature(
                f"total_{letter}volume", "bytes", f"Sum of their IP packet lengths, {way}.", NETMATE
            ),
        ]
    return totals


def _spread(name: str, unit: str, quantity: str) -> list[Feature]:
    """Return four features of a quantity: least, mean, most and standard deviation."""
    nothing = "0 if there is none."
    return [
        Feature(f"min_{name}", unit, f"Least {quantity}; {nothing}", NETMATE),
        Feature(f"mean_{name}", unit, f"Mean {quantity}, rounded down; {nothing}", NETMATE),
        Feature(f"max_{name}", unit, f"Greatest {quantity}; {nothing}", NETMATE),
        Feature(
            f"std_{name}",
            unit,
            f"Sample standard deviation of each {quantity}, rounded down; 0 for fewer than two.",
            NETMATE,
        ),
    ]


def _spreads() -> list[Feature]:
    """Return the features of lengths and times."""
    return [
        *_spread("fpktl", "bytes", "IP packet length from the client"),
        *_spread("bpktl", "bytes", "IP packet length from the server"),
        *_spread("fiat", "µs", "inter-arrival time of packets from the client"),
        *_spread("biat", "µs", "inter-arrival time of packets from the server"),
        Feature("duration", "µs", "From the first packet to the last.", NETMATE),
        *_spread("active", "µs", "duration of a sub-flow"),
        *_spread("idle", "µs", "gap between two sub-flows"),
    ]


def _subflows() -> list[Feature]:
    """Return packets and bytes of each direction, per sub-flow."""
    return [
        Feature(
            f"sflow_{letter}{what}",
            what,
            f"`total_{letter}{total}` divided by the number of sub-flows, rounded down.",
            NETMATE,
        )
        for letter in "fb"
        for what, total in (("packets", "packets"), ("bytes", "volume"))
    ]


def _headers() -> list[Feature]:
    """Return the counts of TCP flags, and the sums of header lengths."""
    flags = [
        Feature(
            f"{letter}{flag}_cnt", "packets", f"TCP packets {way} with {flag.upper()} set.", NETMATE
        )
        for flag in ("psh", "urg")
        for letter, way in (("f", "from the client"), ("b", "from the server"))
    ]
    lengths = [
        Feature(
            f"total_{letter}hlen",
            "bytes",
            f"Sum of header lengths {way}: IPv4 with options, or IPv6 with extension headers; TCP "
            "with options; UDP 8; no others.",
            NETMATE,
        )
        for letter, way in (("f", "from the client"), ("b", "from the server"))
    ]
    return flags + lengths


COLUMNS: tuple[Feature, ...] = (
    *_ends(),
    *_totals(),
    *_spreads(),
    *_subflows(),
    *_headers(),
    Feature(
        "dscp", "", "First DSCP other than 0 of a packet, either way (RFC 2474); else 0.", FLOWTBAG
    ),
    Feature("class", "", "Label of the flow: a string, or null where nobody labelled it.", OWN),
)
"""All columns, in the order of `features` in a record."""

NAMES: tuple[str, ...] = tuple(feature.name for feature in COLUMNS)

RULES: tuple[tuple[str, str], ...] = (
    (
        "Packets",
        "A packet counts if it is IPv4 or IPv6 behind Ethernet (with VLAN tags or without), NSH "
        "over Ethernet, or NSH in VXLAN-GPE (IPv4, UDP 4790, a header that announces NSH). Of "
        "packets with an NSH, the inner one counts. A packet is malformed if its IP, TCP or UDP "
        "header is cut off, has a wrong version or length, or does not fit its packet, or if "
        "more than 8 IPv6 extension headers (hop-by-hop, routing, fragment, destination, "
        "authentication) come before the rest. It is counted as malformed and belongs to no "
        "flow.",
    ),
    (
        "Lengths",
        "The IP packet length is the total length of IPv4, or 40 bytes and the payload length "
        "of IPv6. Padding of the frame does not count.",
    ),
    (
        "Flows",
        "Packets with the same IP version, protocol, addresses and ports, in either direction. "
        "Only TCP and UDP have ports. Fragments have ports 0 and no TCP or UDP header, so that "
        "all fragments of a datagram are in one flow. A flow begins with its first packet, "
        "which decides who is the client. It ends when as many panes as make a window pass "
        "without a packet of it. FIN and RST do not end it, so a connection that closes inside a "
        "window is in the record of that window.",
    ),
    (
        "Time",
        "Features count whole microseconds: a packet's Unix time is rounded down before times "
        "are subtracted. A packet that is earlier than the one before it (of any flow) has the "
        "time of that one. A packet that is earlier by more than a window means that the clock "
        "was set: all windows and flows end before it.",
    ),
    (
        "Windows",
        "Panes of `slide_s` begin at multiples of `slide_s` since the epoch; a window is as "
        "many panes as make `window_s`, and a window begins with each pane. Each flow with a "
        "packet in a window yields one record of the window, from the packets in it alone; only "
        "the direction is the flow's.",
    ),
    (
        "Early records",
        "A flow has at most one record of the kind `early`, besides those of its windows. It "
        "counts the packets since the flow began, whichever windows these are in, and is made "
        "with packet `early_packets` of the flow, or before that for the sake of its client: "
        "with the first packet of each flow, its client's flows are counted that began in the "
        "same pane and have had no record, this one included. If they are `early_flows`, the "
        "early records of all of them are made, in the order in which they began. None of them "
        "counts any more, so the next such records come after as many further flows. Clients "
        "are addresses, whatever the ports; those of IPv4 and IPv6 differ. `early_flows` 0: none "
        "of this. `early_packets` 0: no early records at all. If the function has several "
        "threads, each counts the flows that come to it.",
    ),
    (
        "Sub-flows",
        "A gap of more than 1,000,000 µs between two consecutive packets of the flow, either "
        "way, divides it into sub-flows. The gap is idle time; the sub-flow's duration, from "
        "its first packet to its last, is active time. The last sub-flow counts as well, so "
        "there is at least one duration, which may be 0. Inter-arrival times are taken within a "
        "sub-flow: the first packet of a direction in it has none.",
    ),
    (
        "Numbers",
        "All features but `srcip`, `dstip` and `class` are whole numbers, computed from exact "
        "integer sums. A mean is rounded down. A standard deviation is that of a sample (n - "
        "1), and rounded down after the exact root.",
    ),
    (
        "Room",
        "If the table of flows is full, a new flow replaces one that is known, rather one with "
        "a single packet. The records of the replaced flow are made at once, and "
        "`flows_evicted` counts it. If it goes on, it is a new flow, with a second record of "
        "the same window. A replaced flow has no early record afterwards and counts no more for "
        "its client. A client is known while it has flows that count, so there is always room for "
        "all clients of the flows in the table.",
    ),
)
"""Heading -> how features are computed, exactly enough for another implementation."""

DIFFERENCES: tuple[str, ...] = (
    "Every flow has records. flowtbag exports flows of completed TCP handshakes with data, and UDP "
    "flows with packets in both directions; scans and floods are none of these.",
    "The UDP header has 8 bytes. flowtbag adds the length of the whole datagram to `total_fhlen` "
    "and `total_bhlen`.",
    "A minimum of 0 stays 0. flowtbag replaces it by the next value.",
    "A packet that is earlier than the one before it counts. flowtbag ignores it.",
    "Standard deviations are computed exactly. flowtbag subtracts floating-point numbers that are "
    "nearly equal.",
    "A flow is cut into windows. flowtbag describes whole connections, with a timeout of 600 s.",
    "IPv6, fragments, and protocols other than TCP and UDP count.",
)
"""Where these definitions differ from flowtbag's."""
