"""What went wrong, in one line for the record, with the traceback kept where a developer looks."""

from __future__ import annotations

import traceback
from pathlib import Path

from sfcperf.errors import SfcperfError


def describe(error: BaseException) -> str:
    """One line. An error that is not ours is named by its type: it is a plug-in's mistake."""
    if isinstance(error, SfcperfError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def keep_traceback(error: BaseException, file: Path) -> None:
    """Append the traceback of an unexpected error to a file; our own errors need none."""
    if isinstance(error, SfcperfError):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write("".join(traceback.format_exception(error)) + "\n")
