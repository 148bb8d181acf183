"""Errors as one line for the record, with the traceback in a file."""

from __future__ import annotations

import traceback
from pathlib import Path

from sfcperf.errors import SfcperfError


def describe(error: BaseException) -> str:
    """An error as one line. An unexpected error is named by its type: it is a bug, often of a
    plug-in."""
    if isinstance(error, SfcperfError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def keep_traceback(error: BaseException, file: Path) -> None:
    """Append the traceback of an unexpected error to a file. Errors of SFCPerf (SfcperfError)
    explain themselves and are left out."""
    if isinstance(error, SfcperfError):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", errors="backslashreplace") as out:
        out.write("".join(traceback.format_exception(error)) + "\n")
