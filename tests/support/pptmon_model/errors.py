"""What can be wrong with a header of PPTMon, or with the packet that shall carry it."""

from __future__ import annotations


class FormatError(ValueError):
    """Bytes that are no header of PPTMon, or a packet that takes none.

    `reason` is one of

    - `absent`: there is none, or it is somebody else's,
    - `truncated`: bytes end before the header or the packet does,
    - `malformed`: a length that contradicts another,
    - `checksum`: the OCS is wrong (RFC 9868 section 9),
    - `room`: there is no room for it,
    - `fragment`, `unsupported`: the packet cannot carry it,
    - `field`: a value cannot be encoded.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def require(value: int, name: str, maximum: int) -> None:
    """Raise FormatError unless 0 <= value <= maximum."""
    if not 0 <= value <= maximum:
        raise FormatError("field", f"{name} is {value}; allowed are 0 to {maximum}")
