"""The Network Service Header, MD types 1 and 2 (RFC 8300 section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

ETHERTYPE = 0x894F
VERSION = 0
DEFAULT_TTL = 63
"""The TTL that RFC 8300 section 2.2 recommends."""

_WORD = 4
_BASE_BYTES = 8
"""Length of the base header and the service path header."""
_MD1_BYTES = 16
"""Length of the fixed-length context header of MD type 1."""
_CONTEXT_BYTES = 4
"""Length of the head of a variable-length context header."""
_MAX_WORDS = 0x3F
_OAM = 0x20


class NshError(ValueError):
    """Bytes that are no NSH, or fields that do not fit into one.

    `reason` is one of `truncated`, `version`, `md_type`, `length`, `metadata`, `encapsulation`
    (the names of `enum nsh_error` in nsh.h and of the forwarder's counters), or `field` for a
    value that cannot be encoded.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def require(value: int, name: str, maximum: int) -> None:
    """Raise NshError unless 0 <= value <= maximum."""
    if not 0 <= value <= maximum:
        raise NshError("field", f"{name} is {value}; allowed are 0 to {maximum}")


class NextProtocol(IntEnum):
    """What follows the header (RFC 8300 section 2.2, IANA registry)."""

    IPV4 = 1
    IPV6 = 2
    ETHERNET = 3
    NSH = 4
    MPLS = 5


@dataclass(frozen=True)
class ContextHeader:
    """A variable-length context header of MD type 2 (RFC 8300 section 2.5.1)."""

    md_class: int
    """Scope of the type, 16 bits."""
    type: int
    """Type within the class, 8 bits."""
    data: bytes = b""
    """Value without padding, at most 127 bytes."""

    def __post_init__(self) -> None:
        require(self.md_class, "metadata class", 0xFFFF)
        require(self.type, "metadata type", 0xFF)
        require(len(self.data), "number of metadata bytes", 0x7F)

    def encode(self) -> bytes:
        """Return the head, the value and the padding to a whole word."""
        head = self.md_class.to_bytes(2, "big") + bytes([self.type, len(self.data)])
        return head + self.data + bytes(-len(self.data) % _WORD)


@dataclass(frozen=True)
class Nsh:
    """A Network Service Header.

    Unassigned bits are not kept: they are zero on encoding and ignored on decoding (RFC 8300
    section 2.2), so that `decode(header.encode())` gives the header back, while encoding what was
    decoded may clear such bits.
    """

    spi: int
    """Service Path Identifier, 24 bits."""
    si: int = 255
    """Service Index, 8 bits."""
    next_protocol: int = NextProtocol.ETHERNET
    metadata: bytes | tuple[ContextHeader, ...] = bytes(_MD1_BYTES)
    """16 bytes make MD type 1; context headers, possibly none, make MD type 2."""
    ttl: int = DEFAULT_TTL
    """SFF hops that are left, 6 bits."""
    oam: bool = False

    def __post_init__(self) -> None:
        require(self.spi, "SPI", 0xFFFFFF)
        require(self.si, "SI", 0xFF)
        require(self.next_protocol, "next protocol", 0xFF)
        require(self.ttl, "TTL", 0x3F)
        if isinstance(self.metadata, bytes) and len(self.metadata) != _MD1_BYTES:
            raise NshError(
                "field", f"MD type 1 carries {_MD1_BYTES} bytes, not {len(self.metadata)}"
            )
        require(self._words(), "length in words", _MAX_WORDS)

    @property
    def md_type(self) -> int:
        """MD type, 1 or 2."""
        return 1 if isinstance(self.metadata, bytes) else 2

    def _encoded_metadata(self) -> bytes:
        if isinstance(self.metadata, bytes):
            return self.metadata
        return b"".join(context.encode() for context in self.metadata)

    def _words(self) -> int:
        """Length of the whole header in words of 4 bytes."""
        return (_BASE_BYTES + len(self._encoded_metadata())) // _WORD

    def encode(self) -> bytes:
        """Return the header as bytes. Its payload goes behind."""
        first = VERSION << 14 | (_OAM << 8 if self.oam else 0) | self.ttl << 6 | self._words()
        base = first.to_bytes(2, "big") + bytes([self.md_type, self.next_protocol])
        return base + self.spi.to_bytes(3, "big") + bytes([self.si]) + self._encoded_metadata()

    @classmethod
    def decode(cls, data: bytes) -> tuple[Nsh, bytes]:
        """Return the header at the start of `data`, and the bytes that follow it.

        Raises NshError with reason `truncated`, `version`, `md_type`, `length` or `metadata`.
        """
        if len(data) < _BASE_BYTES:
            raise NshError("truncated", f"{len(data)} bytes are less than a header's {_BASE_BYTES}")
        version, md_type, size = data[0] >> 6, data[2] & 0x0F, (data[1] & 0x3F) * _WORD
        if version != VERSION:
            raise NshError("version", f"version {version} is not {VERSION}")
        _check_length(md_type, size)
        if size > len(data):
            raise NshError("truncated", f"the header says {size} bytes, {len(data)} are there")
        metadata = data[_BASE_BYTES:size]
        header = cls(
            spi=int.from_bytes(data[4:7], "big"),
            si=data[7],
            next_protocol=data[3],
            metadata=bytes(metadata) if md_type == 1 else _decode_contexts(metadata),
            ttl=(int.from_bytes(data[:2], "big") >> 6) & 0x3F,
            oam=bool(data[0] & _OAM),
        )
        return header, data[size:]


def _check_length(md_type: int, size: int) -> None:
    """Raise NshError unless a header of this MD type may have this length in bytes."""
    if md_type not in (1, 2):
        raise NshError("md_type", f"MD type {md_type} is neither 1 nor 2")
    if md_type == 1 and size != _BASE_BYTES + _MD1_BYTES:
        raise NshError("length", f"MD type 1 with a length of {size} bytes instead of 24")
    if md_type == 2 and size < _BASE_BYTES:
        raise NshError("length", f"MD type 2 with a length of {size} bytes, less than 8")


def _decode_contexts(metadata: bytes) -> tuple[ContextHeader, ...]:
    """Return the context headers of MD type 2. Raises NshError with reason `metadata`."""
    contexts = []
    rest = metadata
    while rest:
        # All that is left is whole words, so that a head is always complete.
        length = rest[3] & 0x7F
        end = _CONTEXT_BYTES + length
        padded = end + -length % _WORD
        if padded > len(rest):
            raise NshError(
                "metadata", f"a context header of {padded} bytes where {len(rest)} are left"
            )
        md_class = int.from_bytes(rest[:2], "big")
        contexts.append(ContextHeader(md_class, rest[2], bytes(rest[_CONTEXT_BYTES:end])))
        rest = rest[padded:]
    return tuple(contexts)
