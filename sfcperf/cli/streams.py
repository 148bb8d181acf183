"""Standard streams that are closed, or whose reader goes away."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def open_missing_streams() -> None:
    """A command may be started with a stream closed (`>&-`): what is written there goes nowhere,
    and no file of ours gets its number, which children would take for the stream."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()


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
