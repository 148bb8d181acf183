"""Unpack a package into an empty folder: files only, with a limit on what is written."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.package.layout import MAX_BYTES
from sfcperf.package.zip_check import inspect, reading, refused

_CHUNK = 1 << 20
_SPARE_BYTES = 64 << 20
"""Disk space that stays free."""


@contextmanager
def unpacked(package: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Path]:
    """A temporary folder with the package's files, removed afterwards. Raises as `unpack`."""
    with TemporaryDirectory(prefix="sfcperf-package-") as folder:
        unpack(package, Path(folder), max_bytes=max_bytes)
        yield Path(folder)


def unpack(package: Path, folder: Path, *, max_bytes: int = MAX_BYTES) -> list[str]:
    """Write a package's files into an empty folder; returns their names, sorted.

    Files are new (never through a link or over an existing file), readable by the user alone and
    not executable. Raises Refused (InputError) before anything is written, or as soon as a file has
    more content than declared; EnvironmentLacks when the disk is too small.
    """
    with system_errors_as(InputError, "the package cannot be read", where=package):
        entries = inspect(package, max_bytes=max_bytes)
    total = sum(entry.file_size for entry in entries)
    if total + _SPARE_BYTES > shutil.disk_usage(folder).free:
        raise EnvironmentLacks(
            f"{folder} has no room for {total} bytes",
            hint="set TMPDIR to a folder on a larger disk",
        )
    with zipfile.ZipFile(package) as archive, reading(package):
        for entry in entries:
            _write(archive, entry, folder / entry.filename, package)
    return [entry.filename for entry in entries]


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, package: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    left = entry.file_size
    with archive.open(entry) as source, os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise refused(f"{entry.filename!r} is larger than it says", package)
            file.write(chunk)
    if left:
        raise refused(f"{entry.filename!r} is smaller than it says", package)
