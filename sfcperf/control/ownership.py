"""Whose files these are: what another user could have written is not obeyed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sfcperf.errors import EnvironmentLacks

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def check_folder(folder: Path) -> None:
    """Raises EnvironmentLacks unless a folder is this user's and nobody else can write there;
    OSError when there is none."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EnvironmentLacks("this is not a folder", where=str(folder), hint="remove it")
    _check(folder, found)
    if found.st_mode & OTHERS_WRITE:
        raise EnvironmentLacks(
            "other users can write to this folder: what it says is not done",
            where=str(folder),
            hint=f"look at what is in it, then: chmod go-w {folder}",
        )


def check_file(file: Path) -> None:
    """Raises EnvironmentLacks unless a file, if it exists, is a regular one of this user."""
    try:
        found = file.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise EnvironmentLacks("this is not a regular file", where=str(file), hint="remove it")
    _check(file, found)


def _check(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise EnvironmentLacks(
            f"this belongs to another user (uid {found.st_uid}): what it says is not done",
            where=str(path),
            hint="remove it, or make it yours with chown when you know what is in it",
        )
