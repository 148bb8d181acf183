"""A package is read once, into a private copy: all that is checked, shown or executed is in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfcperf.environment.private import private_folder
from sfcperf.environment.state_root import VARIABLE
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.input_file import open_input, read_input
from sfcperf.package.layout import MAX_BYTES, MAX_SIGNATURE_BYTES
from sfcperf.package.signature import signature_files
from sfcperf.package.zip_check import inspect, reading, refused

_CHUNK = 1 << 20
_SPARE_BYTES = 64 << 20
"""Disk space that stays free."""


@dataclass(frozen=True)
class PackageCopy:
    """A package in a private folder, which nobody else can change."""

    source: Path
    """Where the user's package was read; only messages use it."""
    file: Path
    """The copy, which has the same name. Copies of its signatures are beside it."""
    sha256: str
    """SHA-256 of the copy, hexadecimal."""
    folder: Path
    """Folder for its unpacked files; empty until `unpack` fills it."""


@contextmanager
def private_copy(package: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[PackageCopy]:
    """Copy a package and the signatures beside it into a private folder, which is removed at the
    end of the context.

    Raises InputError if one of them is not a regular file, cannot be read, or is too large;
    EnvironmentLacks if the disk is too small.
    """
    with private_folder() as private:
        folder, beside = private / "files", private / "package"
        folder.mkdir()
        beside.mkdir()
        file = beside / (package.name or "package")
        digest = _copy(package, file, max_bytes)
        for signature in signature_files(package).values():
            if signature.exists():
                content = read_input(signature, "the signature", max_bytes=MAX_SIGNATURE_BYTES)
                (beside / signature.name).write_bytes(content)
        yield PackageCopy(package, file, digest, folder)


def unpack(package: Path, folder: Path, *, max_bytes: int = MAX_BYTES) -> list[str]:
    """Write a package's files into an empty folder; return their names, sorted.

    Each file is created anew (never through a link or over an existing file), readable by the user
    alone and not executable. Raises PackageRefused (InputError) before anything is written, or as
    soon as a file has more content than declared; EnvironmentLacks when the disk is too small.
    """
    with system_errors_as(InputError, "the package cannot be read", where=package):
        entries = inspect(package, max_bytes=max_bytes)
    _check_room(folder, sum(entry.file_size for entry in entries))
    with zipfile.ZipFile(package) as archive, reading(package):
        for entry in entries:
            _write(archive, entry, folder / entry.filename, package)
    return [entry.filename for entry in entries]


def _copy(package: Path, target: Path, max_bytes: int) -> str:
    """Copy a package, and return the SHA-256 of the copied bytes."""
    digest, bytes_left = hashlib.sha256(), max_bytes
    with open_input(package, "the package") as source, target.open("xb") as copy:
        _check_room(target.parent, os.fstat(source.fileno()).st_size)
        # Bytes are counted, as the file may grow while it is read.
        while chunk := source.read(_CHUNK):
            bytes_left -= len(chunk)
            if bytes_left < 0:
                error = refused(f"it has more than {max_bytes} bytes", package)
                error.hint = "to allow more, use --max-bytes"
                raise error
            digest.update(chunk)
            copy.write(chunk)
    return digest.hexdigest()


def _check_room(folder: Path, size: int) -> None:
    """Raise EnvironmentLacks if the disk of a folder has no room for `size` bytes and the spare
    ones."""
    if size + _SPARE_BYTES > shutil.disk_usage(folder).free:
        raise EnvironmentLacks(
            f"{folder} has no room for {size} bytes",
            hint=f"set {VARIABLE} to a folder on a larger disk",
        )


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, package: Path) -> None:
    """Unpack one file to `target`, which must not exist. Raises PackageRefused if it is larger or
    smaller than its entry says."""
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    bytes_left = entry.file_size
    with archive.open(entry) as source, os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        while chunk := source.read(_CHUNK):
            bytes_left -= len(chunk)
            if bytes_left < 0:
                raise refused(f"{entry.filename!r} is larger than it says", package)
            file.write(chunk)
    if bytes_left:
        raise refused(f"{entry.filename!r} is smaller than it says", package)
