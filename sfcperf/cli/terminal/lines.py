"""Lines on stderr: what somebody should know, and a run's progress where there is no bar."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.cli.terminal.text import levels_text, shown, wrapped
from sfcperf.control.events import Listener
from sfcperf.counts import count_text
from sfcperf.presentation.wording import duration_text

if TYPE_CHECKING:
    from sfcperf.results.records import TrialRecord
    from sfcperf.workflow.plan import PlannedTrial, TrialGroup

_USUAL_COLUMNS = 80
"""Assumed width of a terminal that does not say how many columns it has."""


class QuietDisplay(Listener):
    """Prints the path of the run folder at once, so that a script knows it even if the run is
    killed. Otherwise it only prints what went wrong."""

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """Print the path of the run folder on stdout."""
        with suppress(OSError):
            print(folder, flush=True)

    def message(self, text: str) -> None:
        """Print the text on stderr."""
        say(text)


class LineDisplay(Listener):
    """Prints a line for each trial group and each trial, for logs and pipes."""

    def created(self, folder: Path) -> None:
        """Print the path of the run folder, and that the run begins."""
        say(f"{folder}: looking at this machine, starting the driver")

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """Print how many trials are planned and how many are done, and the planned time."""
        before = f", {done} of them already done" if done else ""
        takes = f", about {duration_text(planned_s)}" if planned_s else ""
        say(f"{folder}: {count_text(trials, 'trial')} planned{before}{takes}")

    def more_trials(self, trials: int, planned_s: float, reason: str) -> None:
        """Print how many trials the plan grows by, and why."""
        say(f"{reason}: {count_text(trials, 'trial')} more")

    def trial_group_started(self, group: TrialGroup) -> None:
        """Print the round and the levels of the group."""
        say(f"{round_text(group)}: {levels_text(group.scenario.levels)}")

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """Print the number of the attempt, from the second one on."""
        if attempt > 1:
            say(f"  {trial.probe.label}: attempt {attempt}")

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Print the status of the trial, with the reasons."""
        say(f"  {verdict_text(record)}")

    def phase(self, name: str) -> None:
        """Print the phases before and after the trials; trials have lines of their own."""
        if name in ("starting services", "analysing", "publishing"):
            say(name)

    def message(self, text: str) -> None:
        """Print the text on stderr."""
        say(text)


def round_text(group: TrialGroup) -> str:
    """Name the round of a trial group, such as `round 2` or `warm-up 1`."""
    return f"{'warm-up' if group.warmup else 'round'} {group.round}"


def verdict_text(record: TrialRecord) -> str:
    """Say what became of a trial, such as `ping: valid`, `iperf3-udp: untrusted (the sender ...)`
    or `ping: valid after 1 failed attempt: ...`."""
    reasons = f" ({'; '.join(record.reasons)})" if record.reasons else ""
    # A failed trial has the reasons of its attempts as its own: they are not repeated.
    failed = [one.reason for one in record.failed_attempts if record.status != "failed"]
    after = f" after {count_text(len(failed), 'failed attempt')}: {'; '.join(failed)}"
    return f"{record.label}: {record.status}{reasons}{after if failed else ''}"


def say(text: str) -> None:
    """Print lines on stderr. They are escaped, as they may quote a server or a file of somebody
    else, and wrapped at words on a terminal. A reader that has gone does not end a run."""
    lines = list(map(shown, text.split("\n")))
    with suppress(OSError):
        if sys.stderr.isatty():
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
            lines = [wrapped(line, columns) for line in lines]
        print("\n".join(lines), file=sys.stderr, flush=True)
