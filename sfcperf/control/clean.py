"""Clean: undo every dead run of this machine; living ones are left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfcperf.control.state import RunAlive, StateDir
from sfcperf.control.undo import undo_dead
from sfcperf.errors import SfcperfError


@dataclass(frozen=True)
class Cleaned:
    """What became of one run's leftovers."""

    run_id: str
    status: Literal["removed", "alive", "failed"]
    """With dry_run, `removed` means: would be."""
    lines: tuple[str, ...]
    """What was removed, or why it could not be."""


def clean(*, dry_run: bool) -> list[Cleaned]:
    """Undo all dead runs, each for itself: one that cannot be undone does not stop the others."""
    states = StateDir()
    return [_clean(states, run_id, dry_run) for run_id in states.run_ids()]


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
