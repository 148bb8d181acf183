"""Files of the machine on which an agent runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sfcperf.errors import MeasurementError, system_errors_as


def begin_file(path: Path) -> Path:
    """Make a file beside `path`, and its folder, to which `append` writes until `finish_file`.
    Raises MeasurementError."""
    with system_errors_as(MeasurementError, "cannot be copied", where=path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file, part = tempfile.mkstemp(prefix=f"{path.name}.part.", dir=path.parent)
        os.close(file)
        return Path(part)


def append(part: Path, data: bytes) -> None:
    """Append bytes. Raises MeasurementError."""
    with (
        system_errors_as(MeasurementError, "cannot be copied", where=part),
        part.open("ab") as file,
    ):
        file.write(data)


def finish_file(part: Path, path: Path, mode: int) -> None:
    """Put the file in place, with this mode. Raises MeasurementError."""
    with system_errors_as(MeasurementError, "cannot be copied", where=path):
        part.chmod(mode)
        part.replace(path)


def drop_file(part: Path) -> None:
    """Remove a file that was not finished."""
    part.unlink(missing_ok=True)


def read_part(path: Path, offset: int, length: int) -> bytes:
    """Read so many bytes of a file, fewer at its end. Raises MeasurementError."""
    with (
        system_errors_as(MeasurementError, "cannot be copied", where=path),
        path.open("rb") as file,
    ):
        file.seek(offset)
        return file.read(length)


def has_file(path: Path) -> bool:
    """Whether there is a file of this path."""
    return path.is_file()
