"""Listener: the events of a run, for whatever displays its progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfcperf.results.records import TrialRecord
    from sfcperf.workflow.plan import PlannedTrial, TrialGroup


class Listener:
    """Receives the events of a run. This class ignores all of them; a display overrides the methods
    for what it shows. Methods must not raise."""

    def created(self, folder: Path) -> None:
        """The run folder exists. Next the machine is looked at, and the drivers start."""

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """Trials are about to begin. `trials` are planned (warm-up included), and `done` of them
        were recorded by earlier sessions of a resumed run. `planned_s` is the estimated time of the
        others with their deployments, seconds."""

    def more_trials(self, trials: int, planned_s: float, reason: str) -> None:
        """The plan grows by `trials`, because sequential stopping adds a round or the noise gate
        reruns some: `reason` says which. `planned_s` is their estimated time, seconds."""

    def phase(self, name: str) -> None:
        """The run's state changed: `deploying`, `measuring`, ..."""

    def trial_group_started(self, group: TrialGroup) -> None:
        """The trials of one scenario in a round begin."""

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """An attempt at a trial begins; `attempt` counts from 1."""

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """A trial is recorded: `record` says how it went."""

    def message(self, text: str) -> None:
        """The run has something that the user should know now."""
