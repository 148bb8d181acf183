"""Listener: the events of a run, for whatever displays its progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfcperf.results.records import TrialRecord
    from sfcperf.workflow.plan import PlannedTrial, TrialGroup


class Listener:
    """Ignores everything; a display overrides what it shows. Methods must not raise."""

    def created(self, folder: Path) -> None:
        """The run folder exists; the machine is looked at, and the drivers start."""

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """Trials are about to begin: `trials` are planned (warm-up included), `done` of them were
        recorded by earlier sessions of a resumed run. `planned_s` is the estimated time of the
        others with their deployments, seconds."""

    def more_trials(self, trials: int, planned_s: float) -> None:
        """Sequential stopping adds a round, or the noise gate reruns: so many more trials, with
        their estimated time."""

    def phase(self, name: str) -> None:
        """The run's state changed: `deploying`, `measuring`, ..."""

    def trial_group_started(self, group: TrialGroup) -> None:
        """The trials of one scenario in a round begin."""

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """An attempt at a trial begins; the first is 1."""

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """A trial is recorded."""

    def message(self, text: str) -> None:
        """Something that the user should know now."""
