"""A verdict: what the speed layer says of one record (schemas/verdict.schema.json)."""

from __future__ import annotations

from typing import NamedTuple

VERSION = 1
"""Of the format."""


class Verdict(NamedTuple):
    """The fields of the message but `version`, in its order."""

    record: tuple[int, int]
    """Partition and offset of the record in the topic `records`."""
    recorded_ms: int
    """Kafka's timestamp of the record, Unix time, milliseconds."""
    source: str
    """Of the record, as are those that follow."""
    sequence: int
    kind: str
    """`early` or `window`."""
    first_ns: int
    protocol: int
    src: str
    """Of the client, which sent the flow's first packet."""
    src_port: int
    dst: str
    dst_port: int
    label: str
    """`benign`, or the kind of the attack."""
