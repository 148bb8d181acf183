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
    """Before anything is written into an existing run folder. Raises InputError for a link, a FIFO
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
    """Before a folder is created or written, whether or not it is in a run folder. Raises
    InputError if a link in a run folder leads there, or if root would write where another user
    could exchange what is on the way: root trusts himself and who called sudo."""
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
    return InputError(
        f"this run folder cannot be written: it contains {kind}",
        where=str(place),
        hint="remove it, or work with a copy of the folder without it",
    )


def _check_owner(place: Path, found: os.stat_result) -> None:
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
    kinds = {"a link": stat.S_ISLNK, "a FIFO": stat.S_ISFIFO}
    kinds |= {"a device": lambda mode: stat.S_ISBLK(mode) or stat.S_ISCHR(mode)}
    return next((kind for kind, holds in kinds.items() if holds(mode)), None)


def _entries(folder: Path) -> Iterator[Path]:
    """Everything below a folder; links are not followed."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
