"""Where SFCPerf may write: not through links, and as root not where another user decides.

A run folder may come from somebody else, with a link `figures -> /etc` in it; and whoever owns a
folder on the way to a file can put a link there at any time. So the way is checked as a whole
before the first write, as sshd does for its own files (sshd_config(5), StrictModes).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sfcperf.errors import InputError, system_errors_as

_MANIFEST = "run.json"


def check_run_folder(folder: Path) -> None:
    """Check a run folder before anything is written into it. Raises InputError for a link, a FIFO
    or a device anywhere in it, and as `check_place`."""
    check_place(folder)
    with system_errors_as(InputError, "the run folder cannot be read", where=folder):
        for entry in _entries(folder):
            found = entry.lstat()
            kind = _refused_kind(found.st_mode)
            if kind is not None:
                raise _contains(entry, kind)
            if stat.S_ISDIR(found.st_mode):
                _check_owner(entry, found)


def check_place(folder: Path) -> None:
    """Check a place before a folder is created or written there. Raises InputError if a link in a
    run folder leads there. As root, also raises it if another user could exchange a folder on the
    way: only root and the user who called sudo are trusted."""
    named = folder.absolute()
    with system_errors_as(InputError, "this folder cannot be read", where=folder):
        for place in (named, *named.parents):
            if place.is_symlink() and any((above / _MANIFEST).exists() for above in place.parents):
                raise _contains(place, "a link")
        if os.geteuid() != 0:
            return
        real = named.resolve()
        for place in {*(named, *named.parents), *(real, *real.parents)}:
            if os.path.lexists(place):
                _check_owner(place, place.lstat())


def _contains(place: Path, kind: str) -> InputError:
    """Return the error for a run folder that contains something at this place (`a link`)."""
    return InputError(
        f"this run folder cannot be written: it contains {kind}",
        where=str(place),
        hint="remove it, or work with a copy of the folder without it",
    )


def _check_owner(place: Path, found: os.stat_result) -> None:
    """As root, raise InputError for a place that an untrusted user owns, or a folder that all users
    can write and that is not sticky: in a sticky one (/tmp), nobody can exchange others' files."""
    if os.geteuid() != 0:
        return
    trusted = {0, int(os.environ.get("SUDO_UID") or 0)}
    open_to_all = found.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH
    if found.st_uid in trusted and not (open_to_all and stat.S_ISDIR(found.st_mode)):
        return
    reason = "all users" if found.st_uid in trusted else f"the user {found.st_uid}"
    raise InputError(
        f"root does not write here: {reason} could exchange what is in it",
        where=str(place),
        hint="name a folder of your own, change the owner, or run the command as that user",
    )


def _refused_kind(mode: int) -> str | None:
    """Name the kind of a file that no run folder may contain; None for other files and folders."""
    kinds = {"a link": stat.S_ISLNK, "a FIFO": stat.S_ISFIFO}
    kinds |= {"a device": lambda mode: stat.S_ISBLK(mode) or stat.S_ISCHR(mode)}
    return next((kind for kind, holds in kinds.items() if holds(mode)), None)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder; links are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
