"""BarDisplay: a progress bar with the time that is left."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sfcperf.cli.console import progress_console
from sfcperf.cli.progress import round_text, verdict_text
from sfcperf.cli.text import levels_text
from sfcperf.control.events import Listener
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.plan import PlannedTrial, TrialGroup

REFRESH_PER_S = 2
"""Drawing costs CPU time of the machine that is measured."""


class BarDisplay(Listener):
    """One bar for all trials; trials that are not valid leave a line above it."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=progress_console(),
            refresh_per_second=REFRESH_PER_S,
            # Two trials of a kind may differ a lot in time; look at many for the estimate.
            speed_estimate_period=3600,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._where = ""
        self._progress.start()

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()

    def created(self, folder: Path) -> None:
        """See Listener."""
        self._print(str(folder))

    def started(self, folder: Path, trials: int, done: int) -> None:
        """See Listener."""
        self._progress.update(self._task, total=trials, completed=done)

    def more_trials(self, trials: int) -> None:
        """See Listener."""
        task = self._progress.tasks[0]
        self._progress.update(self._task, total=(task.total or 0) + trials)

    def phase(self, name: str) -> None:
        """See Listener."""
        self._describe(name)

    def trial_group_started(self, group: TrialGroup) -> None:
        """See Listener."""
        self._where = f"{round_text(group)}, {levels_text(group.scenario.levels)}: "

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """See Listener."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        self._describe(f"{trial.probe.label}{again}")

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """See Listener."""
        self._progress.advance(self._task)
        if record.status != "valid":
            self._print(f"{self._where}{verdict_text(record)}")

    def message(self, text: str) -> None:
        """See Listener."""
        self._print(text)

    def _describe(self, what: str) -> None:
        self._progress.update(self._task, description=f"{self._where}{what}")

    def _print(self, text: str) -> None:
        # The terminal may be gone, and the run goes on (nohup) or ends in order (SIGHUP).
        with suppress(OSError):
            self._progress.console.print(text, soft_wrap=True)
