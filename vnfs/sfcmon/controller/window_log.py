"""The file of windows: a line of JSON for each, as sfc-sfcmon prints it, and by which switch.

A line `opened` says that a window began which does not follow the one before; a line `opening`,
that this is about to happen. The file is opened for each line, so that it may be moved away at any
time. A line that a killed controller did not finish is removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.ownership import check_place

_LOOKED_AT_BYTES = 1 << 22
"""Bytes at the end of the file that are read for the last window of each switch: dozens of
windows."""


@dataclass(frozen=True)
class WindowPosition:
    """Where the windows of a switch have got to."""

    number: int
    """Number of the last window; -1: none was written."""
    idle_bank: int | None
    """The bank that the open window is not in; None: not known, since the window was only about to
    begin."""
    end_ns: int
    """When the open window began; 0 if it was only about to."""

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> WindowPosition:
        """Return the position after a line of the file. Raises KeyError, TypeError."""
        if event["event"] == "opening":
            return cls(event["number"] - 1, None, 0)
        if event["event"] == "opened":
            # The line is about the window that is open now: it has the number after the last one.
            return cls(event["number"] - 1, 1 - event["bank"], event["start_ns"])
        return cls(event["number"], event["bank"], event["end_ns"])


class WindowLog:
    """Appends windows to a file."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if the file cannot be written."""
        self._path = path
        check_place(path.parent)
        if path.exists() and not path.is_file():
            raise InputError("this is not a regular file", where=str(path))
        with system_errors_as(InputError, "windows cannot be written", where=path):
            path.touch(mode=0o640)
            self._last = self._read_last()

    def last(self, switch: str) -> WindowPosition | None:
        """Return where the windows of a switch have got to; None if no line near the end of the
        file tells."""
        return self._last.get(switch)

    def next_number(self, switch: str) -> int:
        """Return the number of the next window of a switch."""
        last = self._last.get(switch)
        return 0 if last is None else last.number + 1

    def append(self, event: Mapping[str, Any]) -> None:
        """Write a line. Raises OSError, and then the file is as it was."""
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            before = os.fstat(descriptor).st_size
            try:
                while line:
                    line = line[os.write(descriptor, line) :]
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        self._last[event["switch"]] = WindowPosition.of(event)

    def _read_last(self) -> dict[str, WindowPosition]:
        """Read the end of the file, and remove a line at its end that was not finished."""
        with self._path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOOKED_AT_BYTES))
            content = file.read()
            whole, newline, torn = content.rpartition(b"\n")
            if torn:
                file.truncate(size - len(torn))
        found = {}
        for line in (whole + newline).splitlines():
            # The first one is the end of a line, unless the file is short: it is no JSON, and is
            # left out.
            with suppress(ValueError, TypeError, KeyError):
                event = strict_json.loads(line)
                found[str(event["switch"])] = WindowPosition.of(event)
        return found
