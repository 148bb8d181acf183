"""Listener: what a run tells about its progress, to whoever shows it."""

from __future__ import annotations

from pathlib import Path

from sfcperf.results.records import TrialRecord
from sfcperf.workflow.plan import PlannedTrial, Visit


class Listener:
    """Ignores everything; a display overrides what it shows. Methods must not raise."""

    def started(self, folder: Path, trials: int, done: int) -> None:
        """The run folder is there; `trials` are planned (warm-up included), `done` are kept
        from before (a resumed run)."""

    def more_trials(self, trials: int) -> None:
        """Sequential stopping adds a round: so many more trials."""

    def phase(self, name: str) -> None:
        """The run's state changed: `deploying`, `measuring`, ..."""

    def visit_started(self, visit: Visit) -> None:
        """A scenario's turn in a round."""

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """An attempt at a trial begins; the first is 1."""

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """A trial is recorded."""

    def message(self, text: str) -> None:
        """Something that the user should know now."""
