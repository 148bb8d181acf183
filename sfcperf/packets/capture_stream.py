"""Reads the bytes of a capture piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from sfcperf.errors import SfcperfError, system_errors_as

LINKTYPE_ETHERNET = 1
MOST_FRAME_BYTES = 1 << 18
"""Length of the longest frame that libpcap captures (MAXIMUM_SNAPLEN)."""
_PIECE_BYTES = 1 << 20

Frames = Iterator[tuple[int, bytes]]
"""Unix time [ns] and bytes of each frame, without frame check sequence."""


class CaptureStream:
    """A capture that is read piece by piece. The bytes that were read and not used yet lie in
    `data` from the offset `at` on; readers move `at` behind what they have used."""

    def __init__(self, file: FileIO, path: Path, kind: type[SfcperfError]) -> None:
        """`kind` is the class of the errors that the stream raises; `path` is named in them."""
        self.data = b""
        self.at = 0
        self._before = 0
        """Number of bytes of the file before `data`."""
        self._file = file
        self._path = path
        self._kind = kind

    def has(self, count: int) -> bool:
        """Whether at least `count` bytes follow. They are read if needed, and are in `data` then.
        This may move `at` and replace `data`."""
        left = len(self.data) - self.at
        if left >= count:
            return True
        parts = [self.data[self.at :]]
        with system_errors_as(self._kind, "not readable", where=self._path):
            while left < count and (part := self._file.read(max(_PIECE_BYTES, count - left))):
                parts.append(part)
                left += len(part)
        self._before += self.at
        self.data, self.at = b"".join(parts), 0
        return left >= count

    @property
    def ended(self) -> bool:
        """Whether no byte follows."""
        return not self.has(1)

    def damaged(self, what: str, *, allowed: str | None = None) -> SfcperfError:
        """Return an error that says `what` is wrong, and at which byte of the file: where `at` is
        now."""
        where = f"{self._path}, byte {self._before + self.at}"
        return self._kind(what, where=where, allowed=allowed)

    def check_link_type(self, link_type: int, wanted: int) -> None:
        """Raise an error if the capture has frames of another link type than the wanted one."""
        if link_type != wanted:
            raise self.damaged(f"frames of link type {link_type}", allowed=f"link type {wanted}")

    def check_size(self, size: int) -> None:
        """Raise an error if a frame is longer than any capture has: the file is damaged."""
        if size > MOST_FRAME_BYTES:
            raise self.damaged(f"a frame of {size} bytes", allowed=f"up to {MOST_FRAME_BYTES}")
