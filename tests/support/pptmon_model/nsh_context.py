"""The header of PPTMon in NSH, MD type 2 (RFC 8300 section 2.5.1; RFC 9263).

Context headers of one class and type, in front of all others. Each begins with the same 8 bytes and
has at most 39 hops, since a context header's length has 7 bits; the newest is in front.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.dataplane.nsh import ContextHeader
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import Header, Hop, decode_type
from support.pptmon_model.value import decode_float, encode_float

CLASS = 0xFFF6
"""Of experiments (RFC 9263 section 6)."""
TYPE = 0x50
HEADER_BYTES = 8
"""Metric and flags, reserved, sample number, clock of the source."""
HOP_BYTES = 3
HOPS_PER_CONTEXT = (127 - HEADER_BYTES) // HOP_BYTES


def is_ours(context: ContextHeader) -> bool:
    """Whether a context header is PPTMon's."""
    return (context.md_class, context.type) == (CLASS, TYPE)


def encode_contexts(header: Header) -> tuple[ContextHeader, ...]:
    """The context headers, newest first; only the first may have less than 39 hops."""
    head = bytes([header.type, 0]) + header.sample.to_bytes(2, "big")
    head += header.source_clock_us.to_bytes(4, "big")
    first = len(header.hops) % HOPS_PER_CONTEXT or HOPS_PER_CONTEXT
    starts = range(first, len(header.hops), HOPS_PER_CONTEXT)
    groups = [header.hops[:first], *(header.hops[at : at + HOPS_PER_CONTEXT] for at in starts)]
    return tuple(
        ContextHeader(CLASS, TYPE, head + b"".join(map(_encode_hop, group))) for group in groups
    )


def decode_contexts(contexts: Sequence[ContextHeader]) -> Header:
    """The header of the context headers in front that are PPTMon's.

    The flags are those of the first, since a VNF without room marks that one alone. Raises
    FormatError with reason `absent` or `malformed`.
    """
    if not contexts or not is_ours(contexts[0]):
        raise FormatError("absent", "the first context header is not of PPTMon")
    hops: list[Hop] = []
    head = contexts[0].data[:HEADER_BYTES]
    for number, context in enumerate(contexts):
        if not is_ours(context):
            break
        hops += _decode_hops(context.data)
        if context.data[1:HEADER_BYTES] != head[1:]:
            raise FormatError("malformed", f"context header {number} is of another sample")
    metric, truncated = decode_type(head[0])
    sample, clock_us = int.from_bytes(head[2:4], "big"), int.from_bytes(head[4:8], "big")
    return Header(tuple(hops), metric, truncated, sample, clock_us)


def _encode_hop(hop: Hop) -> bytes:
    return bytes([hop.vnf_id]) + encode_float(hop.value).to_bytes(2, "big")


def _decode_hops(data: bytes) -> list[Hop]:
    size = len(data) - HEADER_BYTES
    if size < HOP_BYTES or size % HOP_BYTES:
        raise FormatError("malformed", f"{len(data)} bytes are not {HEADER_BYTES} and whole hops")
    return [
        Hop(data[at], decode_float(int.from_bytes(data[at + 1 : at + HOP_BYTES], "big")))
        for at in range(HEADER_BYTES, len(data), HOP_BYTES)
    ]
