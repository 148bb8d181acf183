"""Recorder: when the parts of a run began and ended, as a tree of spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time_ns

from sfcperf.control.events.listener import Listener
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.plan import PlannedTrial, TrialGroup

Attribute = str | bool | int | float


@dataclass
class Span:
    """A part of a run."""

    name: str
    parent: Span | None
    """None for the run itself."""
    attributes: Mapping[str, Attribute]
    start_ns: int
    """Unix time."""
    end_ns: int | None = None
    """None until it has ended."""
    error: str = ""
    """Why it failed; empty if it did not."""


class Recorder(Listener):
    """Passes all events on to another listener, and notes the times of those that begin or end
    something."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.spans: list[Span] = []
        """In the order of their start."""
        self._run: Span | None = None
        self._round: Span | None = None
        self._group: Span | None = None
        self._trial: Span | None = None
        self._phase: Span | None = None
        self._phases: list[str] = []
        """Those that are under way, the innermost last."""

    def end(self, error: str = "") -> None:
        """The session has ended; `error`: why it failed."""
        for span in self.spans:
            if span.end_ns is None:
                span.end_ns = time_ns()
                span.error = error

    def created(self, folder: Path) -> None:
        """See Listener."""
        self._listener.created(folder)
        self._run = self._begin("run", {"sfcperf.run_id": folder.name})

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        """See Listener."""
        self._listener.started(folder, trials, done, planned_s)

    def more_trials(self, trials: int, planned_s: float) -> None:
        """See Listener."""
        self._listener.more_trials(trials, planned_s)

    def phase(self, name: str) -> None:
        """See Listener."""
        self._listener.phase(name)

    def trial_group_started(self, group: TrialGroup) -> None:
        """See Listener."""
        self._listener.trial_group_started(group)
        of_round = {"sfcperf.round": group.round, "sfcperf.warmup": group.warmup}
        if self._round is None or self._round.attributes != of_round:
            kind = "warm-up" if group.warmup else "round"
            self._round = self._begin(f"{kind} {group.round}", of_round, self._run)
        levels = {f"sfcperf.factor.{k}": str(v) for k, v in group.scenario.levels.items()}
        self._group = self._begin(f"scenario {group.scenario.id}", levels, self._round)

    def trial_group_ended(self, group: TrialGroup) -> None:
        """See Listener."""
        self._listener.trial_group_ended(group)
        if self._group is not None and self._round is not None:
            # A round ends with its last group.
            self._group.end_ns = self._round.end_ns = time_ns()
        self._group = None

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        """See Listener."""
        self._listener.trial_started(trial, attempt)
        if attempt == 1:
            about = {"sfcperf.trial_id": trial.trial_id, "sfcperf.probe": trial.probe.probe}
            self._trial = self._begin(f"trial {trial.probe.label}", about, self._group)

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """See Listener."""
        self._listener.trial_ended(trial, record)
        if self._trial is not None:
            self._trial.end_ns = time_ns()
            how = {"sfcperf.status": record.status, "sfcperf.attempts": record.attempts}
            self._trial.attributes = {**self._trial.attributes, **how}
            if record.status == "failed":
                self._trial.error = "; ".join(record.reasons)
        self._trial = None

    def phase_started(self, name: str) -> None:
        """See Listener. As in run.json, time counts for the innermost phase only."""
        self._listener.phase_started(name)
        self._enter([*self._phases, name])

    def phase_ended(self, name: str) -> None:
        """See Listener."""
        self._listener.phase_ended(name)
        self._enter(self._phases[:-1])

    def _enter(self, phases: list[str]) -> None:
        if self._phase is not None:
            self._phase.end_ns = time_ns()
        self._phases = phases
        around = self._trial or self._group or self._run
        self._phase = self._begin(phases[-1], {}, around) if phases else None

    def message(self, text: str) -> None:
        """See Listener."""
        self._listener.message(text)

    def _begin(
        self, name: str, attributes: Mapping[str, Attribute], parent: Span | None = None
    ) -> Span:
        self.spans.append(Span(name, parent, attributes, time_ns()))
        return self.spans[-1]
