"""BarDisplay: a progress bar with the time that is left."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from sfcperf.cli.terminal.console import progress_console
from sfcperf.cli.terminal.lines import round_text, verdict_text
from sfcperf.cli.terminal.text import levels_text, wrapped
from sfcperf.control.events import Listener
from sfcperf.presentation.time_left import RemainingTime
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.plan import PlannedTrial, TrialGroup, deploy_s, trial_s

REFRESH_PER_S = 2
"""How often the bar is drawn per second. Drawing costs CPU time of the machine that is measured."""
_OF_A_TRIAL = frozenset({"deploying", "verifying", "measuring"})
"""Phases of a run that belong to one trial: they are shown with its name."""
_COUNT_COLUMNS = len("9999/9999")
_TIME_COLUMNS = len("99:59:59")


class _BarWithLines(Progress):
    """Draws the bar, and under it two lines: what is done now, and the time left. They are not
    columns of the bar, whose length would change with theirs."""

    def __init__(self, console: Console, time_left: RemainingTime) -> None:
        self.time_left = time_left
        self.doing = "starting"
        super().__init__(
            BarColumn(bar_width=None),
            # Columns are as wide as they ever get, so that the bar, which has the rest, is steady.
            MofNCompleteColumn(table_column=Column(min_width=_COUNT_COLUMNS, no_wrap=True)),
            TimeElapsedColumn(table_column=Column(min_width=_TIME_COLUMNS, no_wrap=True)),
            console=console,
            refresh_per_second=REFRESH_PER_S,
            expand=True,
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.doing)
        yield Text(str(self.time_left))


class BarDisplay(Listener):
    """Shows one bar for all trials, what is done now, and the time left. Trials that are not valid
    leave a line above the bar."""

    def __init__(
        self, console: Console | None = None, time_left: RemainingTime | None = None
    ) -> None:
        """Tests give a console and a clock; others take the defaults."""
        self._left = time_left or RemainingTime()
        self._progress = _BarWithLines(console or progress_console(), self._left)
        self._task = self._progress.add_task("", total=None)
        self._where = self._trial = self._phase = ""
        self._deploy_s = 0.0
        """Planned time of the current deployment, until a first trial on it has ended; then 0."""
        self._progress.start()

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()

    def created(self, folder: Path) -> None:
        """Print the path of the run folder above the bar."""
        self._print(str(folder))

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """Set the bar to the trials that are planned and done, and add to the time left."""
        self._left.add(planned_s)
        self._progress.update(self._task, total=trials, completed=done)

    def more_trials(self, trials: int, planned_s: float, reason: str) -> None:
        """Make the bar longer by these trials, and add to the time left."""
        self._left.add(planned_s)
        task = self._progress.tasks[0]
        self._progress.update(self._task, total=(task.total or 0) + trials)

    def phase(self, name: str) -> None:
        """Show the phase under the bar."""
        self._phase = name
        self._describe()

    def trial_group_started(self, group: TrialGroup) -> None:
        """Keep the group's round and levels for its lines, and its deployment's planned time."""
        self._where = f"{round_text(group)}, {levels_text(group.scenario.levels)}: "
        self._deploy_s = deploy_s(group.scenario)

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """Show the trial under the bar, with the number of the attempt from the second one on."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        self._trial = f"{trial.probe.label}{again}"
        self._describe()

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Advance the bar, and print a line above it if the trial is not valid."""
        self._left.trial_ended(self._deploy_s + trial_s(trial))
        self._deploy_s = 0.0
        self._progress.advance(self._task)
        if record.status != "valid":
            self._print(f"{self._where}{verdict_text(record)}")

    def message(self, text: str) -> None:
        """Print the text above the bar."""
        self._print(text)

    def _describe(self) -> None:
        """Say under the bar what is done now."""
        if self._phase in _OF_A_TRIAL and self._trial:
            self._progress.doing = f"{self._where}{self._trial}, {self._phase}"
        else:
            self._progress.doing = self._phase

    def _print(self, text: str) -> None:
        """Print lines above the bar, wrapped at words."""
        console = self._progress.console
        lines = (wrapped(line, console.width) for line in text.split("\n"))
        # If the terminal is gone, the run still goes on (nohup) or ends in order (SIGHUP).
        with suppress(OSError):
            console.print("\n".join(lines), soft_wrap=True)
