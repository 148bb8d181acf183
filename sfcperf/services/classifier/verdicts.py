"""A verdict: what the speed layer says of one record (schemas/verdict.schema.json)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from sfcperf.services.classifier.records import LONGEST_NAME, MOST_NUMBER

LONGEST_LABEL = 1000
"""Longest label, characters."""
_Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER)]
_Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
_Address = Annotated[str, msgspec.Meta(max_length=45)]


class Verdict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The message with a verdict. Decoding checks all limits, but not that addresses are valid:
    anybody who reaches the broker can write a message."""

    version: Literal[1]
    record: tuple[_Number, _Number]
    """Partition and offset of the record in the topic of records."""
    recorded_ms: _Number
    """Kafka's timestamp of the record, Unix time, milliseconds."""
    source: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
    """`source` of the record. The fields from here to `dst_port` are copied from the record."""
    sequence: _Number
    kind: Literal["early", "window"]
    first_ns: _Number
    protocol: Annotated[int, msgspec.Meta(ge=0, le=255)]
    src: _Address
    """Address of the client, which sent the flow's first packet."""
    src_port: _Port
    dst: _Address
    dst_port: _Port
    label: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LABEL)]
    """`benign`, or the kind of the attack."""


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Verdict).decode
"""Decodes a verdict. Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
