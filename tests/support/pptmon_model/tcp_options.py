"""The options of TCP (RFC 9293 section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator

from support.pptmon_model.errors import FormatError

END, NO_OPERATION = 0, 1


def bounds(frame: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each option of more than one byte starts and ends, from `start` up to `end`.

    Raises FormatError `malformed` when it comes to an option that goes beyond `end`.
    """
    at = start
    while at < end and frame[at] != END:
        if frame[at] == NO_OPERATION:
            at += 1
            continue
        length = frame[at + 1] if at + 1 < end else 0
        if length < 2 or at + length > end:
            raise FormatError("malformed", f"a TCP option of {length} bytes, {end - at} are left")
        yield at, at + length
        at += length
