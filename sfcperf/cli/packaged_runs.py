"""Runs of a package as arguments of verbs that only read: `sfcperf compare RUN PACKAGE.zip`."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from sfcperf.errors import InputError
from sfcperf.package.opened import PackagedRun, open_package
from sfcperf.package.unpack import private_copy, unpack
from sfcperf.package.verify.hashes import check_hashes


def packaged_runs(package: Path) -> list[PackagedRun]:
    """Unpack a package in a private folder, check its hashes (not its signature), and return its
    runs. The folder stays until this process ends.

    Raises InputError if it is not a package, is malicious, or its files are not as they were
    packed; EnvironmentLacks if there is no room for it.
    """
    copy = _opened().enter_context(private_copy(package))
    try:
        names = unpack(copy.file, copy.folder)
        found = open_package(copy.folder)
        hashes, _ = check_hashes(copy.folder, names)
    except InputError as error:
        if error.where == str(copy.file):  # users know only their own file
            error.where = str(package)
        raise
    if hashes.state != "ok":
        # The first finding; or the detail, if there is no list of hashes.
        reason = (*hashes.findings, hashes.detail)[0]
        raise InputError(
            f"its files are not as they were packed: {reason}",
            where=str(package),
            hint="`sfcperf verify` says more",
        )
    for store in found.runs:
        store.package = package  # users are shown this path, not that of the copy
    return found.runs


@cache
def _opened() -> ExitStack:
    """Return the stack of what stays open until the process ends: a notebook may read a run at any
    time."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack
