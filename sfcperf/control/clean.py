"""Clean: remove what dead runs of this machine left; living runs are not touched."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Literal

from sfcperf import plugins
from sfcperf.control import services
from sfcperf.control.faults import describe
from sfcperf.control.state import RunInProgress, RunState, StateDir
from sfcperf.drivers.base import Driver
from sfcperf.drivers.journal import JournalShare
from sfcperf.environment.private import dead_folders
from sfcperf.errors import DeploymentError, InputError, SfcperfError


@dataclass(frozen=True)
class CleanupResult:
    """What `clean` did with the leftovers of one run, or of a dead process's private folder."""

    run_id: str
    status: Literal["removed", "alive", "failed"]
    """`alive`: a process executes the run, and nothing was touched. With `dry_run`, `removed` means
    that it would be removed."""
    lines: tuple[str, ...]
    """What was removed, or why it could not be."""


def clean(*, dry_run: bool, driver: str | None = None) -> list[CleanupResult]:
    """Remove what each dead run left. A run whose leftovers cannot be removed does not stop the
    others.

    With `driver`, only runs that used it are undone, each as a whole, since a run has one journal.
    A run whose state is too damaged to name its drivers is tried as well. Raises InputError for a
    driver that is not installed and that no run used.
    """
    states = StateDir()
    run_ids = states.run_ids()
    if driver is not None:
        used = {run_id: _drivers_of(states, run_id) for run_id in run_ids}
        known = set(plugins.names("driver")).union(*(names or () for names in used.values()))
        if driver not in known:
            allowed = ", ".join(sorted(known))
            raise InputError(f"there is no driver named {driver!r}", allowed=allowed)
        run_ids = [run_id for run_id, names in used.items() if names is None or driver in names]
    cleaned = [_clean(states, run_id, dry_run) for run_id in run_ids]
    return cleaned if driver else [*cleaned, *_clean_private(dry_run)]


def _clean_private(dry_run: bool) -> list[CleanupResult]:
    """Remove the private folders of dead processes. No driver owns them, so `clean` calls this only
    without a driver."""
    folders = dead_folders()
    if not dry_run:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    return [CleanupResult(folder.name, "removed", (f"folder {folder}",)) for folder in folders]


def _drivers_of(states: StateDir, run_id: str) -> set[str] | None:
    """Names of the drivers that a run used; None when its state is damaged and cannot tell."""
    try:
        return states.drivers_of(run_id)
    except SfcperfError:
        return None


def _clean(states: StateDir, run_id: str, dry_run: bool) -> CleanupResult:
    """Claim one run, and undo it if it is dead. Errors become the result `failed`, so that other
    runs are still undone."""
    try:
        state = states.claim(run_id)
    except RunInProgress:
        return CleanupResult(run_id, "alive", ())
    except SfcperfError as error:
        return CleanupResult(run_id, "failed", tuple(error.lines()))
    if state is None:
        # Another process has removed it meanwhile.
        return CleanupResult(run_id, "removed", ())
    try:
        return CleanupResult(run_id, "removed", tuple(undo_dead(state, dry_run=dry_run)))
    except SfcperfError as error:
        return CleanupResult(run_id, "failed", tuple(error.lines()))
    finally:
        state.release()


def undo_dead(state: RunState, *, dry_run: bool) -> list[str]:
    """Remove what a dead run left, and its state; returns a line for each removed resource.

    With `dry_run` nothing changes. Raises InputError for damaged state or a driver that is not
    installed, DeploymentError when something cannot be removed; the state is kept then. What the
    run's other infrastructures hold is removed all the same.
    """
    lines: list[str] = []
    if not state.owns_nothing:
        journal = state.journal()
        failed: SfcperfError | None = None
        for owner in journal.owners():
            try:
                lines += _undo(state, journal.of(owner), dry_run=dry_run)
            except SfcperfError as error:
                failed = failed or error
        if failed is not None:
            raise failed
    if not dry_run:
        state.remove()
    return lines


def _undo(state: RunState, journal: JournalShare, *, dry_run: bool) -> list[str]:
    """Remove what one owner in a dead run's journal holds: an infrastructure, or the services.
    Returns a line for each resource. Raises as `undo_dead`."""
    remaining = journal.outstanding()
    undo = services.undo
    if journal.owner != services.OWNER:
        driver: type[Driver] = plugins.load("driver", state.info().driver_of(journal.owner))
        undo = driver.undo
    try:
        lines = undo(remaining, dry_run=dry_run)
    except DeploymentError:
        raise
    except Exception as error:
        whose = "the services" if journal.owner == services.OWNER else "the driver"
        raise DeploymentError(
            f"{whose} could not undo it: {describe(error)}", where=str(state.folder)
        ) from error
    if not dry_run:
        journal.removed(remaining)
    return lines
