"""Clean: undo every dead run of this machine; living ones are left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfcperf import plugins
from sfcperf.control.state import RunAlive, StateDir
from sfcperf.control.undo import undo_dead
from sfcperf.errors import InputError, SfcperfError


@dataclass(frozen=True)
class Cleaned:
    """What became of one run's leftovers."""

    run_id: str
    status: Literal["removed", "alive", "failed"]
    """With dry_run, `removed` means: would be."""
    lines: tuple[str, ...]
    """What was removed, or why it could not be."""


def clean(*, dry_run: bool, driver: str | None = None) -> list[Cleaned]:
    """Undo all dead runs, each for itself: one that cannot be undone does not stop the others.

    With `driver` only runs that it took part in; these as a whole, since a run has one journal.
    Those that do not tell any more are tried as well, and told. Raises InputError for a driver that
    is neither installed nor any run's.
    """
    states = StateDir()
    run_ids = states.run_ids()
    if driver is not None:
        used = {run_id: _drivers_of(states, run_id) for run_id in run_ids}
        _check_known(driver, {name for names in used.values() for name in names or ()})
        run_ids = [run_id for run_id, names in used.items() if names is None or driver in names]
    return [_clean(states, run_id, dry_run) for run_id in run_ids]


def _drivers_of(states: StateDir, run_id: str) -> set[str] | None:
    """None when its state is damaged."""
    try:
        return states.drivers_of(run_id)
    except InputError:
        return None


def _check_known(driver: str, used: set[str]) -> None:
    known = sorted(used.union(plugins.names("driver")))
    if driver not in known:
        raise InputError(f"there is no driver named {driver!r}", allowed=", ".join(known))


def _clean(states: StateDir, run_id: str, dry_run: bool) -> Cleaned:
    try:
        state = states.claim(run_id)
    except RunAlive:
        return Cleaned(run_id, "alive", ())
    if state is None:
        return Cleaned(run_id, "removed", ())
    try:
        return Cleaned(run_id, "removed", tuple(undo_dead(state, dry_run=dry_run)))
    except SfcperfError as error:
        return Cleaned(run_id, "failed", tuple(error.lines()))
    finally:
        state.release()
