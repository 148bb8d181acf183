"""Checks whose files these are: SFCPerf does not obey what another user could have written."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from sfcperf.errors import EnvironmentLacks


def check_folder(folder: Path) -> None:
    """Raise EnvironmentLacks unless a folder is this user's and nobody else can write there. Raises
    OSError when there is none."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EnvironmentLacks("this is not a folder", where=str(folder), hint="remove it")
    _check(folder, found)
    group_writes = found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid)
    if found.st_mode & stat.S_IWOTH or group_writes:
        raise EnvironmentLacks(
            "other users can write to this folder: what it says is not done",
            where=str(folder),
            hint=f"look at what is in it, then: chmod go-w {folder}",
        )


def _is_private(gid: int) -> bool:
    """Whether a group is this user's own and has no other member, as Debian makes one for each
    user. With umask 002, the group may write to folders, which is harmless then."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def check_file(file: Path) -> None:
    """Raise EnvironmentLacks if a file exists and is not a regular file of this user."""
    try:
        found = file.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise EnvironmentLacks("this is not a regular file", where=str(file), hint="remove it")
    _check(file, found)


def _check(path: Path, found: os.stat_result) -> None:
    """Raise EnvironmentLacks unless a file or folder is this user's."""
    if found.st_uid != os.geteuid():
        raise EnvironmentLacks(
            f"this belongs to another user (uid {found.st_uid}): what it says is not done",
            where=str(path),
            hint="remove it, or make it yours with chown when you know what is in it",
        )
