"""A switch that is monitored by 5-tuples: settings, and keys of flows."""

from __future__ import annotations

import struct

from support.sdnmon.openflow import Settings
from support.sdnmon.tool import FIVE_TUPLE, HASH_KEY, layout_of

LAYOUT = layout_of(FIVE_TUPLE)
FIVE = Settings(LAYOUT.masks, secret=HASH_KEY)


def keys_of(numbers: range) -> list[bytes]:
    """Of udp_flow()."""
    return [
        LAYOUT.key(
            {"ipv4_src": 0x0A000000 + n, "ipv4_dst": 0x0A090909, "ip_proto": 17,
             "tp_src": 1000, "tp_dst": 53},
            ("ip", "ipv4", "ports"),
        )
        for n in numbers
    ]  # fmt: skip


def number(value: int) -> bytes:
    """As messages have it."""
    return struct.pack("!I", value)
