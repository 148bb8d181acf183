"""Files that knobs of VNFs name, such as scripts and binaries: what they were when a run began.

    files/<SHA-256>

is the copy of a file of up to LARGE_BYTES. So a run can be packed and repeated when its files have
changed since.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.input_file import open_input
from sfcperf.results.files import replacing

LARGE_BYTES = 16 << 20
"""Of larger files, a run folder has no copy; a package has one only if the user wants it."""
_CHUNK = 1 << 20


def keep_files(folder: Path, files: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Copy files, except large ones, into `folder`, the run's `files`, which is created only if
    there are any.

    `files`: path in the workflow -> file. Returns entries for `files` of run.json: `path` in the
    workflow, `bytes` and `sha256`. Raises InputError if a file cannot be read.
    """
    entries = []
    for name, file in files.items():
        size, sha256 = digest(file)
        if size <= LARGE_BYTES:
            folder.mkdir(exist_ok=True)
            with replacing(folder / sha256) as beside:
                shutil.copyfile(file, beside)
        entries.append({"path": name, "bytes": size, "sha256": sha256})
    return entries


def check_files(kept: Sequence[Mapping[str, Any]], files: Mapping[str, Path], where: str) -> None:
    """Raise InputError if a file of a run has changed since the run began. `kept`: what
    `keep_files` returned then."""
    for entry in kept:
        file = files.get(entry["path"])
        if file is not None and digest(file)[1] != entry["sha256"]:
            raise InputError(
                f"the file {entry['path']} has changed since the run began",
                where=where,
                hint="restore it, or start a new run; the run folder has copies of files up to "
                f"{LARGE_BYTES >> 20} MiB in files/, by their SHA-256 ({entry['sha256'][:12]}...)",
            )


def digest(file: Path) -> tuple[int, str]:
    """Return size and SHA-256 of a regular file. Never waits, and ends also for files of the system
    that have no end. Raises InputError."""
    with open_input(file, "the file") as opened:
        size = os.fstat(opened.fileno()).st_size
        found, read = hashlib.sha256(), 0
        while read <= size and (part := opened.read(_CHUNK)):
            found.update(part)
            read += len(part)
    if read != size:
        raise InputError("this file changes while it is read", where=str(file))
    return size, found.hexdigest()
