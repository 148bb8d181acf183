"""Standard streams that are closed, whose reader goes away, or that do not know all characters."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from sfcperf.cli.terminal.escaping import escaping, plain


def open_missing_streams() -> None:
    """Open the standard streams that were closed when the command was started (`>&-`). What is
    written there goes nowhere. Otherwise a file of ours could get the number of such a stream, and
    child processes would take the file for the stream."""
    # In the order of their numbers: an opened file gets the lowest number that is free.
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()


class _TolerantStream(io.TextIOWrapper):
    """Standard output that discards what is written after its reader has gone (`| head -1`): that
    must neither end a run nor change its exit code."""

    def __init__(self, below: io.TextIOWrapper) -> None:
        super().__init__(
            below.buffer,
            encoding=below.encoding,
            errors="backslashreplace",
            line_buffering=below.line_buffering,
        )
        self.below = below
        """The stream whose buffer this one shares."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            drop_stdout()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            drop_stdout()
            super().flush()


@contextmanager
def tolerant_streams() -> Iterator[None]:
    """Let standard output lose its reader, and escape characters that the encoding of stdout or
    stderr lacks, as long as the context lasts."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper):
        yield
        return
    sys.stdout = tolerant = _TolerantStream(before)
    try:
        yield
    finally:
        sys.stdout = before
        # Otherwise, at its end, it would close the buffer that both streams share.
        tolerant.detach()


def strict_stdout() -> TextIO:
    """Return standard output for a verb that wants to stop when its reader goes away: writing to
    it then raises BrokenPipeError."""
    # Two wrappers are around it: the escaping one, which stays, and the tolerant one.
    stream = plain(sys.stdout)
    return escaping(stream.below) if isinstance(stream, _TolerantStream) else sys.stdout


def flush_stdout() -> None:
    """Write what is in the buffer of stdout. It is no error if its reader has gone."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()


def drop_stdout() -> None:
    """Discard what is still written to stdout, also what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> TextIO:
    """Return a stream that discards what is written to it."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
