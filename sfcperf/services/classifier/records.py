"""Records of flows as the speed layer reads them (schemas/flow-record.schema.json)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from sfcperf.vnfs.ids.features import NAMES

MOST_NUMBER = 2**63 - 1
LONGEST_NAME = 128
"""Longest `source` and `run`, characters; `sfc-ids` takes no longer ones. The verdict has them too,
so they are bounded."""
LARGEST_RECORD_BYTES = 65_536
_LONGEST_REASON = 200
"""Longest reason, characters. It is cut, since the parser quotes names of fields, however long they
are."""
_FIRST_TEXT, _SECOND_TEXT = NAMES.index("srcip"), NAMES.index("dstip")

_Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER)]
_Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
_LIMITED = {
    "srcip": str,
    "dstip": str,
    "srcport": _Port,
    "dstport": _Port,
    "proto": Annotated[int, msgspec.Meta(ge=0, le=255)],
    "dscp": Annotated[int, msgspec.Meta(ge=0, le=63)],
    "class": str | None,
}
if TYPE_CHECKING:
    _Features = tuple[Any, ...]
else:
    _Features = tuple[tuple(_LIMITED.get(name, _Number) for name in NAMES)]


class Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A flow record, as the IDS sends it. Decoding checks types and limits."""

    version: Literal[1]
    source: _Name
    run: _Name
    sequence: _Number
    kind: Literal["early", "window"]
    first_ns: _Number
    last_ns: _Number
    features: _Features


class PoisonedRecord(Exception):
    """A message that is no record; the text says why."""


_decoder = msgspec.json.Decoder(Record)


def parse(message: bytes | None) -> Record:
    """Decode the record in a message. None, a message without content, is no record. Raises
    PoisonedRecord."""
    text = message or b""
    if len(text) > LARGEST_RECORD_BYTES:
        raise PoisonedRecord(f"larger than {LARGEST_RECORD_BYTES} bytes")
    try:
        record = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PoisonedRecord(str(error)[:_LONGEST_REASON]) from error
    for place in (_FIRST_TEXT, _SECOND_TEXT):
        if not is_address(record.features[place]):
            raise PoisonedRecord(f"no address - at `$.features[{place}]`")
    return record


def is_address(text: str) -> bool:
    """Whether the text is an IPv4 or IPv6 address without a zone."""
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    except (OSError, ValueError):
        return False
    return True
