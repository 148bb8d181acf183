"""A verdict: what the speed layer says of one record (schemas/verdict.schema.json)."""

from __future__ import annotations

from typing import Literal

import msgspec


class Verdict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The message."""

    version: Literal[1]
    record: tuple[int, int]
    """Partition and offset of the record in the topic of records."""
    recorded_ms: int
    """Kafka's timestamp of the record, Unix time, milliseconds."""
    source: str
    """Of the record, as are those that follow."""
    sequence: int
    kind: Literal["early", "window"]
    first_ns: int
    protocol: int
    src: str
    """Of the client, which sent the flow's first packet."""
    src_port: int
    dst: str
    dst_port: int
    label: str
    """`benign`, or the kind of the attack."""


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Verdict).decode
"""Raises msgspec.MsgspecError."""
