"""Undo: remove what a journal names, whoever made it."""

from __future__ import annotations

from sfcperf import plugins
from sfcperf.control.faults import describe
from sfcperf.control.state import RunState
from sfcperf.drivers.base import Driver
from sfcperf.drivers.journal import JournalShare
from sfcperf.errors import DeploymentError, SfcperfError


def release(driver: Driver) -> list[str]:
    """End a driver and remove what it still holds; gives what could not be removed.

    Only what is left in the end is a problem: an unfinished `close` is made good from the journal.
    """
    journal = driver.context.journal
    problems = []
    try:
        driver.close()
    except Exception as error:
        problems.append(f"closing the driver: {describe(error)}")
    left = journal.outstanding()
    if not left:
        return []
    try:
        driver.undo(left, dry_run=False)
    except Exception as error:
        return [*problems, f"undoing from the journal: {describe(error)}"]
    journal.removed(left)
    return []


def undo_dead(state: RunState, *, dry_run: bool) -> list[str]:
    """Remove what a dead run left, and its state; a line for each thing that was removed.

    With `dry_run` nothing changes. Raises InputError for damaged state or a driver that is not
    installed, DeploymentError when something cannot be removed; the state is kept then. What
    another infrastructure of the run holds is removed all the same.
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
    """Remove what one infrastructure of a dead run holds."""
    left = journal.outstanding()
    driver: type[Driver] = plugins.load("driver", state.info().driver_of(journal.owner))
    try:
        lines = driver.undo(left, dry_run=dry_run)
    except DeploymentError:
        raise
    except Exception as error:
        raise DeploymentError(
            f"the driver could not undo it: {describe(error)}", where=str(state.folder)
        ) from error
    if not dry_run:
        journal.removed(left)
    return lines
