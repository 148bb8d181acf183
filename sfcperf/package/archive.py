"""The zip of a package: written so that the same input gives the same bytes."""

from __future__ import annotations

import hashlib
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sfcperf.errors import InputError
from sfcperf.package.names import name_problem

_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of every entry, the first that a zip can hold. Real dates would make each zip of the same
input different."""
_LEVEL = 6
_ZIP64_FROM = 1 << 31
_UNIX = 3
_MS_DOS_FOLDER = 0x10


@dataclass(frozen=True)
class PackedFile:
    """A file as it was packed."""

    bytes: int
    sha256: str


class Archive:
    """A zip that is being written, as a context manager. `files` has what was added so far.

    Each folder has an entry before that of its first file, as archivers write it: programs that
    read a package without unpacking it find the folders that its RO-Crate describes. Modes and
    dates are fixed, so that the bytes depend only on names, content and order, and on the version
    of zlib.
    """

    def __init__(self, path: Path) -> None:
        self.files: dict[str, PackedFile] = {}
        """Name in the package -> file that was added."""
        self._folders: set[str] = set()
        """Names of the folders that have an entry."""
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add_text(self, name: str, text: str) -> None:
        """Add a file from text, UTF-8. Raises InputError for a name that cannot be in a package."""
        content = text.encode()
        info = self._entry(name, len(content))
        self._zip.writestr(info, content)
        self.files[name] = PackedFile(len(content), hashlib.sha256(content).hexdigest())

    def add_file(self, name: str, source: Path) -> None:
        """Add a file. The hash is that of the packed bytes, even when the source changes meanwhile.
        Raises InputError for a name that cannot be in a package, and OSError."""
        digest, size = hashlib.sha256(), 0
        with source.open("rb") as file:
            info = self._entry(name, source.stat().st_size)
            large = info.file_size >= _ZIP64_FROM
            with self._zip.open(info, "w", force_zip64=large) as target:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
        self.files[name] = PackedFile(size, digest.hexdigest())

    def _entry(self, name: str, size: int) -> zipfile.ZipInfo:
        """Describe a file of `size` bytes that comes next, and write entries before it for those of
        its folders that have none. Raises InputError for a name that cannot be in a package."""
        info = _info(name, size)
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            if (entry := f"{folder}/") not in self._folders:
                self._folders.add(entry)
                self._zip.writestr(_folder_info(entry), b"")
        return info


def hash_file(path: Path) -> PackedFile:
    """Return size and SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return PackedFile(path.stat().st_size, digest.hexdigest())


def hash_list(files: Mapping[str, PackedFile]) -> str:
    """Return text that `sha256sum -c` reads: a line for each file, sorted by name."""
    return "".join(f"{files[name].sha256}  {name}\n" for name in sorted(files))


def _info(name: str, size: int) -> zipfile.ZipInfo:
    """Describe a file. Raises InputError for a name that cannot be in a package."""
    problem = name_problem(name)
    if problem is not None:
        raise InputError(f"this name cannot be in a package: it {problem}", where=name)
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = _UNIX
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = size
    return info


def _folder_info(name: str) -> zipfile.ZipInfo:
    """Describe a folder, whose name ends with a slash."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = _UNIX
    info.external_attr = (stat.S_IFDIR | 0o755) << 16 | _MS_DOS_FOLDER
    return info
