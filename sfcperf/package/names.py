"""Names of files in a package: what may be unpacked on any machine without leading out of place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sfcperf.package.layout import MAX_DEPTH, MAX_NAME_BYTES, MAX_PATH_BYTES

_DRIVE = re.compile(r"[A-Za-z]:")


def name_problem(name: str) -> str | None:
    """Say why a relative path may not be in a package; None when it may.

    A bad name is refused, never mended: programs that mend names do so in different ways, so that
    one of them would still be led out of place.
    """
    parts = name.split("/")
    if not name.isprintable() or "\\" in name:
        return "has a control character, a backslash or another character that is not printable"
    if name.startswith("/") or _DRIVE.match(name):
        return "is an absolute path"
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, `.` or `..`"
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "is not Unicode text"
    # The path has a slash for each part but one.
    if max(sizes) > MAX_NAME_BYTES or sum(sizes) + len(parts) > MAX_PATH_BYTES:
        return "is too long"
    if len(parts) > MAX_DEPTH:
        return "is nested too deeply"
    return None


def clash(files: Iterable[str], folders: Iterable[str] = ()) -> str | None:
    """Name two files, or two folders, that some file system takes for one, or a file that is also a
    folder; None when there are none. Such systems ignore case and Unicode normalisation.
    `folders` need not name each folder in which a file lies."""
    in_files: dict[str, str] = {}
    in_folders: dict[str, str] = {}
    # Folders in which files or folders lie, folded -> one of the names in them.
    parents: dict[str, str] = {}
    for names, seen in ((files, in_files), (folders, in_folders)):
        for name in names:
            folded = _folded(name)
            if folded in seen:
                return f"{seen[folded]!r} and {name!r}"
            seen[folded] = name
            end = folded.rfind("/")
            while end > 0 and folded[:end] not in parents:
                parents[folded[:end]] = name
                end = folded.rfind("/", 0, end)
    both = sorted(in_files.keys() & (parents | in_folders).keys())
    return f"{in_files[both[0]]!r} and {(parents | in_folders)[both[0]]!r}" if both else None


def _folded(name: str) -> str:
    """Return a form of a name that is the same for all names that differ only in case or Unicode
    normalisation. Folding case may undo the normalisation: so it is done again."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
