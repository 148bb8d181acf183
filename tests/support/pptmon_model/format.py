"""The header of PPTMon as an option of TCP or UDP, in the paper's format and in that of the RFCs.

README.md draws the formats. `nsh_context.py` has that of NSH; `packet.py` puts headers into
packets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum

from support.pptmon_model.errors import FormatError, require
from support.pptmon_model.value import VALUE_MAX

TCP_KIND = 254
"""Of experiments (RFC 4727); the paper's PPT_H_KIND of UDP too."""
UDP_KIND = 127
"""EXP of RFC 9868 section 11.8."""
EXID_RFC = 0x5054
EXID_PAPER = 0x5060
"""A block of 16 (RFC 6994 section 3): the low bits are metric and flags."""
PAPER_BYTES = 4
"""Kind, length, ExID."""
RFC_BYTES = 8
"""Kind, length, ExID, metric and flags, reserved, sample number."""
HOP_BYTES = 4
TRUNCATED = 0x8
"""Flag beside the metric: a VNF had no room to add itself."""

_METRIC_MASK = 0x7
_PAPER_MASK = 0xFFF0
_MAX_LENGTH = 254
"""255 announces an extended length in RFC 9868; 62 hops of the paper's format come to 252."""


class Format(Enum):
    """How a header is laid out."""

    PAPER = "paper"
    RFC = "rfc"


class Metric(IntEnum):
    """What the values of a sample are (`enum ppt_metric`)."""

    TIME = 0
    """Processing time, us."""
    DELAY = 1
    """Clock on arrival at the VNF, us."""


@dataclass(frozen=True)
class Hop:
    """What one VNF wrote."""

    vnf_id: int
    """8 bits."""
    value: int
    """24 bits; inside the VNF, its clock in us."""

    def __post_init__(self) -> None:
        require(self.vnf_id, "VNF id", 0xFF)

    def encode(self) -> bytes:
        """4 bytes."""
        require(self.value, "value of a hop", VALUE_MAX)
        return bytes([self.vnf_id]) + self.value.to_bytes(3, "big")

    @classmethod
    def decode(cls, data: bytes) -> Hop:
        """The hop of 4 bytes."""
        return cls(data[0], int.from_bytes(data[1:HOP_BYTES], "big"))


@dataclass(frozen=True)
class Header:
    """A sample on its way."""

    hops: tuple[Hop, ...]
    """Newest first, as on the wire; at least one."""
    metric: Metric = Metric.TIME
    truncated: bool = False
    sample: int = 0
    """Number at the source, modulo 2^16; the paper's format has none and reads 0."""
    source_clock_us: int = 0
    """Low 32 bits of the source's clock; NSH alone carries it."""

    def __post_init__(self) -> None:
        require(self.sample, "sample number", 0xFFFF)
        require(self.source_clock_us, "clock of the source", 0xFFFFFFFF)
        if not self.hops:
            raise FormatError("field", "a header has one hop at least")

    @property
    def type(self) -> int:
        """Metric and flags."""
        return self.metric | (TRUNCATED if self.truncated else 0)

    def with_hop(self, hop: Hop) -> Header:
        """With a newer hop."""
        return replace(self, hops=(hop, *self.hops))

    def with_value(self, value: int) -> Header:
        """With another value in the newest hop, as a VNF's egress writes it."""
        return replace(self, hops=(replace(self.hops[0], value=value), *self.hops[1:]))


def encode_option(header: Header, layout: Format, kind: int = TCP_KIND) -> bytes:
    """The option, from its kind on.

    The paper's kind is 254 in TCP and UDP; an RFC's is `kind`. Raises FormatError with reason
    `room` when the length's byte cannot say it.
    """
    hops = b"".join(hop.encode() for hop in header.hops)
    if layout is Format.PAPER:
        kind, rest = TCP_KIND, (EXID_PAPER | header.type).to_bytes(2, "big")
    else:
        sample = header.sample.to_bytes(2, "big")
        rest = EXID_RFC.to_bytes(2, "big") + bytes([header.type, 0]) + sample
    length = 2 + len(rest) + len(hops)
    if length > _MAX_LENGTH:
        raise FormatError("room", f"an option has {_MAX_LENGTH} bytes at most, not {length}")
    return bytes([kind, length]) + rest + hops


def decode_option(data: bytes) -> tuple[Header, Format]:
    """The header of an option of kind 254 or 127, `data` being the whole option.

    Raises FormatError with reason `absent` (somebody else's) or `malformed`.
    """
    if len(data) < PAPER_BYTES or data[0] not in (TCP_KIND, UDP_KIND):
        raise FormatError("absent", f"{data[:4].hex()} starts no option of PPTMon")
    exid = int.from_bytes(data[2:4], "big")
    if data[0] == TCP_KIND and exid & _PAPER_MASK == EXID_PAPER:
        layout, size, type_ = Format.PAPER, PAPER_BYTES, exid & ~_PAPER_MASK
    elif exid == EXID_RFC:
        layout, size, type_ = Format.RFC, RFC_BYTES, data[4] if len(data) > PAPER_BYTES else 0
    else:
        raise FormatError("absent", f"ExID {exid:#06x} is not of PPTMon")
    if data[1] != len(data) or data[1] < size + HOP_BYTES or (data[1] - size) % HOP_BYTES:
        raise FormatError("malformed", f"{data[1]} bytes are not {size} and whole hops")
    metric, truncated = decode_type(type_)
    hops = tuple(Hop.decode(data[at:]) for at in range(size, len(data), HOP_BYTES))
    sample = int.from_bytes(data[6:8], "big") if layout is Format.RFC else 0
    return Header(hops, metric, truncated, sample), layout


def decode_type(type_: int) -> tuple[Metric, bool]:
    """Metric and `truncated`. Raises FormatError `malformed` for a metric that is not there."""
    try:
        return Metric(type_ & _METRIC_MASK), bool(type_ & TRUNCATED)
    except ValueError as error:
        raise FormatError("malformed", f"type {type_:#04x} is no metric") from error
