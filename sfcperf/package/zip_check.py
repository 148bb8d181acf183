"""Zip check: all that can be known of a package before a byte is unpacked.

A package comes from somebody else, and a zip has most facts twice: in its directory at the end and
in a header before each file. Readers that use different ones see different files (APPNOTE
6.3.9, sections 4.3 and 4.4; Fifield, "A better zip bomb", WOOT 2019). A package in which the two
differ, or in which anything overlaps or lies between, is refused.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sfcperf.errors import InputError
from sfcperf.package.layout import MAX_BYTES, MAX_ENTRIES, MAX_RATIO, RATIO_FROM_BYTES
from sfcperf.package.names import clash, name_problem

MALFORMED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    UnicodeError,
    ValueError,
)
"""What Python's zipfile raises for a damaged or unusual zip."""

_END = struct.Struct("<4s4H2LH")
"""End of the directory (APPNOTE, section 4.3.16), without a comment: the last bytes of the zip."""
_END64_LOCATOR = struct.Struct("<4sLQL")
"""Where the end of a zip64 directory is (section 4.3.15); it is just before `_END`."""
_END64 = struct.Struct("<4sQ2H2L4Q")
"""End of a zip64 directory (section 4.3.14); here it is just before its locator."""
_LOCAL = struct.Struct("<4s5H3L2H")
"""Fixed part of the header before a file's data (section 4.3.7)."""
_LOWEST_HEADER = 46
"""Smallest size of an entry in the directory, in bytes."""
_ENCRYPTED = 0x1 | 0x40 | 0x2000
"""Flags of encryption in its forms (section 4.4.4)."""
_DESCRIPTOR = 0x8
"""Flag: hash and sizes are not in the header, but in a data descriptor after the data."""
_UTF8 = 0x800
"""Flag: the name is UTF-8; otherwise it is in code page 437."""
_UNIX = 3
"""Number of Unix as the system that made an entry (APPNOTE, section 4.4.2)."""
_DESCRIPTOR_SIZES = (12, 16, 20, 24)
"""Sizes of a data descriptor: with sizes of 32 or 64 bits, each without and with a signature
(APPNOTE, section 4.3.9)."""
_FOLDER_ATTRIBUTE = 0x10
"""MS-DOS attribute of a folder, in an entry's external attributes."""
_ZIP64 = 1
"""Header id of the extra field with sizes of 64 bits."""


class PackageRefused(InputError):
    """The file is malicious, damaged, or not a package: nothing was unpacked from it."""


def refused(what: str, where: Path | str) -> PackageRefused:
    """Return the error for a package that is rejected because of `what`."""
    return PackageRefused(f"this package is rejected: {what}", where=str(where))


@contextmanager
def reading(where: Path) -> Iterator[None]:
    """Turn what the zip library raises for a damaged package into PackageRefused."""
    try:
        yield
    except InputError:
        raise
    except MALFORMED as error:
        raise refused(f"it is damaged ({str(error) or type(error).__name__})", where) from error


def inspect(path: Path, *, max_bytes: int = MAX_BYTES) -> list[zipfile.ZipInfo]:
    """Check a package and return its files, sorted by name. Raises PackageRefused, or OSError."""
    with path.open("rb") as file, reading(path):
        directory_start = _directory(file, path)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(entries, path)
            _check_layout(file, entries, directory_start, path)
            _check_size(entries, path, max_bytes)
    return sorted((e for e in entries if not e.is_dir()), key=lambda entry: entry.filename)


def _directory(file: BinaryIO, path: Path) -> int:
    """Return the offset of the directory, after checks of the records behind it. The number of
    entries is bounded here, before anything reads them. Raises PackageRefused."""
    size = file.seek(0, 2)
    if size < _END.size:
        raise refused("it is not a zip file", path)
    file.seek(size - _END.size)
    end_at = size - _END.size
    # A zip may be split over disks: number of this one, of the directory's first one, entries here.
    # Then, of the directory: number of entries, length and offset.
    magic, disk, first, here, count, length, start, comment = _END.unpack(file.read(_END.size))
    if magic != b"PK\5\6" or comment:
        raise refused("it is not a zip file, or something was appended to it", path)
    # All bits set: the value is too large for the field, and is in the zip64 record.
    if 0xFFFF in (here, count) or 0xFFFFFFFF in (length, start):
        end_at -= _END64_LOCATOR.size
        file.seek(max(end_at, 0))
        magic, disk, at, disks = _END64_LOCATOR.unpack(file.read(_END64_LOCATOR.size))
        if magic != b"PK\6\7" or disks != 1 or at != end_at - _END64.size:
            raise refused("its zip64 directory is not where it should be", path)
        file.seek(at)
        magic, extra, _, _, disk, first, here, count, length, start = _END64.unpack(
            file.read(_END64.size)
        )
        # The record states its size without the first 12 bytes: its signature, and this size.
        if magic != b"PK\6\6" or extra != _END64.size - 12:
            raise refused("its zip64 directory is damaged", path)
        end_at = at
    if disk or first or here != count:
        raise refused("it is a part of a split archive", path)
    if count > MAX_ENTRIES:
        raise refused(f"it has {count} entries, more than {MAX_ENTRIES}", path)
    if start + length != end_at or length < count * _LOWEST_HEADER:
        raise refused("its directory does not end where it says", path)
    return int(start)


def _check_entries(entries: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Check names and kinds of all entries, and give each the name that other programs see. Raises
    PackageRefused."""
    for entry in entries:
        # zipfile cuts a name at a NUL; other programs see the original name.
        is_cut = entry.orig_filename != entry.filename
        name = entry.orig_filename if is_cut else _unix_name(entry)
        is_folder = name.endswith("/")
        problem = name_problem(name[:-1] if is_folder else name)
        if problem is not None or is_cut:
            raise refused(f"the name {name!r} {problem or 'is ambiguous'}", path)
        entry.filename = name
        if entry.flag_bits & _ENCRYPTED:
            raise refused(f"{name!r} is encrypted", path)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refused(f"{name!r} is compressed by an unusual method", path)
        # The upper half of the attributes is the mode on Unix; 0: the packer gave none.
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind == stat.S_IFLNK:
            raise refused(f"{name!r} is a link", path)
        if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
            raise refused(f"{name!r} is neither a file nor a folder", path)
        if is_folder and (entry.file_size or entry.compress_size):
            raise refused(f"the folder {name!r} has content", path)
        if not is_folder and entry.external_attr & _FOLDER_ATTRIBUTE:
            raise refused(f"{name!r} is a file and a folder", path)
    folders = [entry.filename.removesuffix("/") for entry in entries if entry.is_dir()]
    both = clash((entry.filename for entry in entries if not entry.is_dir()), folders)
    if both:
        raise refused(f"names collide: {both}", path)
    _check_folders(entries, path)


def _unix_name(entry: zipfile.ZipInfo) -> str:
    """Return the name of an entry. On Unix, `zip` (Info-ZIP) writes UTF-8 without the flag that
    says so, and zipfile decodes it as code page 437: that is undone here."""
    if entry.create_system == _UNIX and not entry.flag_bits & _UTF8:
        with suppress(UnicodeError):
            return entry.filename.encode("cp437").decode()
    return entry.filename


def _check_folders(entries: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Limit the number of folders: a few megabytes of names, each many folders deep, could use up
    all inodes of a disk. Raises PackageRefused."""
    folders: set[str] = set()
    for entry in entries:
        end = entry.filename.rfind("/")
        while end > 0 and entry.filename[:end] not in folders:
            folders.add(entry.filename[:end])
            end = entry.filename.rfind("/", 0, end)
        if len(folders) > MAX_ENTRIES:
            raise refused(f"its files lie in more than {MAX_ENTRIES} folders", path)


def _check_layout(
    file: BinaryIO, entries: Sequence[zipfile.ZipInfo], directory_start: int, path: Path
) -> None:
    """Check that a package is header, data, header, data, ..., directory: nothing overlaps, and
    nothing lies between. Raises PackageRefused."""
    at = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        gap = entry.header_offset - at
        if gap < 0:
            raise refused(f"{entry.filename!r} overlaps another file", path)
        if gap > 0:
            raise refused(f"there are {gap} bytes that belong to no file", path)
        file.seek(at)
        at += _check_header(_read_header(file, path), file, entry, path)
        at += entry.compress_size
        if entry.flag_bits & _DESCRIPTOR:
            at += _descriptor_size(file, at, path)
    if at != directory_start:
        raise refused("its files do not end where its directory begins", path)


def _read_header(file: BinaryIO, path: Path) -> tuple[int, ...]:
    """Read the fixed part of the local header at the file's position, without its signature."""
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
        raise refused("a file has no header", path)
    return tuple(_LOCAL.unpack(header)[1:])


def _check_header(header: Sequence[int], file: BinaryIO, entry: zipfile.ZipInfo, path: Path) -> int:
    """Compare a local header, whose fixed part was just read from `file`, with its entry in the
    directory. Return the size of the whole header, with name and extra fields. Raises
    PackageRefused if they differ."""
    _, flags, method, _, _, crc, packed, size, name_length, extra_length = header
    name = file.read(name_length)
    encoding = "utf-8" if flags & _UTF8 else "cp437"
    extra = file.read(extra_length)
    if packed == size == 0xFFFFFFFF:
        size, packed = _zip64_sizes(extra) or (size, packed)
    follow_data = flags & _DESCRIPTOR
    sizes_agree = (crc, packed, size) == (entry.CRC, entry.compress_size, entry.file_size)
    if (
        name.decode(encoding) != entry.orig_filename
        or (flags, method) != (entry.flag_bits, entry.compress_type)
        or not (sizes_agree or follow_data)
    ):
        raise refused(f"header and directory differ about {entry.filename!r}", path)
    return _LOCAL.size + name_length + extra_length


def _zip64_sizes(extra: bytes) -> tuple[int, int] | None:
    """Return the sizes before and after compression from the extra fields of a local header. None
    if the field that has them (APPNOTE, section 4.5.3) is not there exactly once, with both. The
    order of the fields varies."""
    found = []
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        if kind == _ZIP64:
            found.append(extra[4 : 4 + length])
        extra = extra[4 + length :]
    return struct.unpack("<QQ", found[0]) if len(found) == 1 and len(found[0]) == 16 else None


def _descriptor_size(file: BinaryIO, at: int, path: Path) -> int:
    """Return the size of the data descriptor at `at`. It does not state its size: the next header,
    or the directory, must begin where it ends."""
    for size in _DESCRIPTOR_SIZES:
        file.seek(at + size)
        if file.read(4) in (b"PK\3\4", b"PK\1\2"):
            return size
    raise refused("a file's data does not end where it says", path)


def _check_size(entries: Sequence[zipfile.ZipInfo], path: Path, max_bytes: int) -> None:
    """Raise PackageRefused for a package that would be too large, or looks like a zip bomb."""
    total = sum(entry.file_size for entry in entries)
    packed = path.stat().st_size
    if total > max_bytes:
        error = refused(f"it would unpack to {total} bytes, more than {max_bytes}", path)
        error.hint = "to allow more, use --max-bytes"
        raise error
    if total > RATIO_FROM_BYTES and total > MAX_RATIO * packed:
        raise refused(f"it would unpack to {total // packed} times its size: a bomb", path)
