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
    """A command may be started with a stream closed (`>&-`): what is written there goes nowhere,
    and no file of ours gets its number, which children would take for the stream."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()


class _TolerantStream(io.TextIOWrapper):
    """Standard output whose reader may go away (`| head -1`): that decides neither about a run nor
    about its exit code."""

    def __init__(self, below: io.TextIOWrapper) -> None:
        super().__init__(
            below.buffer,
            encoding=below.encoding,
            errors="backslashreplace",
            line_buffering=below.line_buffering,
        )
        self.below = below
        """The stream of which this is another one."""

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
    """Standard output may lose its reader, and what the streams' encoding lacks is escaped."""
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
        # Or it would close the buffer of the stream before.
        tolerant.detach()


def strict_stdout() -> TextIO:
    """Standard output for a verb that stops when its reader goes away (BrokenPipeError)."""
    stream = plain(sys.stdout)
    return escaping(stream.below) if isinstance(stream, _TolerantStream) else sys.stdout


def flush_stdout() -> None:
    """Write what is left to stdout; a reader that has gone is no error of ours."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()


def drop_stdout() -> None:
    """What is still written to stdout goes nowhere, also what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> TextIO:
    # The lowest free number is that of the stream, since those before it are open by now.
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
