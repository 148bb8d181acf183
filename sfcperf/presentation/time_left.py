"""How long a run still takes, and how far off the plan's estimate has been so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from math import sqrt

from sfcperf.control.live import LiveRun
from sfcperf.presentation.wording import duration_text
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import deploy_s, trial_groups, trial_s

_FEWEST = 3
"""Fewest trials whose scatter says something."""
_CLOSE = 0.1
"""Distance of the ratio from 1 below which it is not worth a word."""
_Z95 = 1.96
"""Quantile of the normal distribution for a two-sided interval of 95 %."""
_ROUNDING_S = 1e-3
"""Seconds below which the rest of a sum of durations is a rounding error, and counts as 0."""


class RemainingTime:
    """Estimates how long a run still takes: the planned time of the trials to come, times the ratio
    by which trials have taken longer than planned until now.

    `add` is called for each part of the plan, then `trial_ended` after each trial; as text the
    object says what is left. All durations are seconds of the given clock. A trial's duration is
    the time since the one before it ended, so that deployments, retries and pauses of the noise
    gate count.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ended_at = clock()
        """When the last trial ended, or, before that, when the first one could begin."""
        self._left_s = 0.0
        """Planned time of the trials to come."""
        self._trials: list[tuple[float, float]] = []
        """Planned and actual duration of each trial that ended, in order."""

    def add(self, planned_s: float) -> None:
        """Add trials to be run, which together take `planned_s`."""
        if not self._trials:
            # The time of the first trial begins here.
            self._ended_at = self._clock()
        self._left_s += planned_s

    def trial_ended(self, planned_s: float) -> None:
        """Note that a trial has ended that was planned to take `planned_s`."""
        now = self._clock()
        self._trials.append((planned_s, now - self._ended_at))
        self._left_s -= planned_s
        if self._left_s < _ROUNDING_S:
            self._left_s = 0.0
        self._ended_at = now

    @property
    def took_s(self) -> float:
        """Time that the trials that are over took."""
        return sum(took for _, took in self._trials)

    @property
    def planned_s(self) -> float:
        """Time that was planned for the trials that are over."""
        return sum(planned for planned, _ in self._trials)

    @property
    def ratio(self) -> float:
        """Time that trials took over the time that was planned for them; 1 before the first one
        has ended."""
        return self.took_s / self.planned_s if self.planned_s else 1.0

    @property
    def left_s(self) -> float:
        """Time that the trials that are not over still take, without what the current one has
        taken already."""
        return max(0.0, self.ratio * self._left_s - (self._clock() - self._ended_at))

    @property
    def relative_error(self) -> float | None:
        """Half-width of the 95 % interval of the time that the trials to come take, over that time,
        which still includes what the current one has taken. None if too few trials are over, if
        none is left, or if those that are over took no time.

        The half-width follows from the variance of the ratio estimator of a total (Cochran,
        Sampling Techniques, 1977, section 6.4), which assumes that trials to come scatter about the
        ratio as those that are over.
        """
        number, ratio = len(self._trials), self.ratio
        if number < _FEWEST or not self._left_s or not ratio:
            return None
        scatter = sum((took - ratio * planned) ** 2 for planned, took in self._trials)
        # As many trials of mean planned duration as make up the planned time that is left.
        trials_to_come = self._left_s / (self.planned_s / number)
        variance = scatter / (number - 1) * trials_to_come * (1 + trials_to_come / number)
        return _Z95 * sqrt(variance) / (ratio * self._left_s)

    def __str__(self) -> str:
        """Say how long the run still takes, or, with no trial left, how long the trials took. Empty
        if there were no trials."""
        if not self._left_s:
            took, planned = duration_text(self.took_s), duration_text(self.planned_s)
            return f"trials took {took}, {planned} were planned" if self._trials else ""
        error = self.relative_error
        margin = ""
        if error is not None:
            margin = " (very roughly)" if error >= 1 else f" (± {100 * error:.0f} %)"
        return f"about {duration_text(self.left_s)} left{margin}, {self._so_far()}"

    def _so_far(self) -> str:
        """Say how the durations of trials compare with the plan."""
        if not self._trials:
            return "as planned"
        if abs(self.ratio - 1) < _CLOSE:
            return "trials take as long as planned"
        return f"trials take {self.ratio:.1f} times as long as planned"


def time_left_of(live: LiveRun, workflow: Workflow) -> RemainingTime | None:
    """Estimate the time left of a run that another process executes, from its records since its
    last session began. None without trials to come, and for a run that nobody executes.

    Rounds that sequential stopping adds count from their first record on. Reruns to come do not
    count, because nothing tells of them.
    """
    ended = sorted(
        (r for r in [*live.warmups, *live.trials] if _s(r.ended_at) > live.began.timestamp()),
        key=lambda record: _s(record.ended_at),
    )
    to_come_s = sum(_to_come_s(live, workflow, ended))
    if live.status != "running" or not to_come_s:
        return None
    planned_s = _planned_s(ended, workflow)
    # What the session did before its first trial was deployed is not part of the plan.
    now_s = _s(ended[0].started_at) if ended else live.seen_at.timestamp()
    # `left` asks for the time by reading `now_s`, which is set to the end of each trial in turn.
    left = RemainingTime(lambda: now_s)
    left.add(sum(planned_s) + to_come_s)
    for record, planned in zip(ended, planned_s, strict=True):
        now_s = _s(record.ended_at)
        left.trial_ended(planned)
    now_s = live.seen_at.timestamp()
    return left


def _planned_s(ended: Sequence[TrialRecord], workflow: Workflow) -> list[float]:
    """Return the planned duration of each trial, in seconds; `ended` are in order of time. The
    first trial of a deployment includes the deployment, except the first trial of all: time is
    counted from its start."""
    of_trial = {
        (group.scenario.id, trial.probe.label): trial_s(trial)
        for group in trial_groups(workflow, 1)
        for trial in group.trials
    }
    of_deployment = {scenario.id: deploy_s(scenario) for scenario in workflow.scenarios}
    planned_s = [of_trial[record.scenario_id, record.label] for record in ended]
    for number, (before, record) in enumerate(pairwise(ended), 1):
        if _group(before) != _group(record):
            planned_s[number] += of_deployment[record.scenario_id]
    return planned_s


def _group(record: TrialRecord) -> tuple[str, str]:
    """Return what trials of one deployment share: the round in their ids (`r001`, `w001`, or
    `r001.2` for a rerun), and the scenario."""
    return record.trial_id.partition("-")[0], record.scenario_id


def _to_come_s(live: LiveRun, workflow: Workflow, ended: Sequence[TrialRecord]) -> Iterator[float]:
    """Yield, for each trial group that is not over, the planned duration of its trials to come, in
    seconds. `ended`: trials that have ended since the last session began."""
    # Trials that count are not repeated by a session; warm-up trials are.
    recorded = {record.trial_id for record in [*ended, *live.trials]}
    last = max([workflow.design.rounds, *(record.round for record in live.trials)])
    warmups = range(1, workflow.design.warmup_rounds + 1)
    groups = [group for n in range(1, last + 1) for group in trial_groups(workflow, n)]
    groups += [group for n in warmups for group in trial_groups(workflow, n, warmup=True)]
    stopped = live.manifest["stopping"]
    # A session warms up once, before its first trial that counts.
    is_warm = any(record.trial_id.startswith("r") for record in ended)
    for group in groups:
        missing = [trial for trial in group.trials if trial.trial_id not in recorded]
        if missing and group.scenario.id not in stopped and not (group.warmup and is_warm):
            is_deployed = len(missing) < len(group.trials)
            yield sum(map(trial_s, missing)) + (0.0 if is_deployed else deploy_s(group.scenario))


def _s(moment: str) -> float:
    """Convert an ISO 8601 moment to Unix time in seconds."""
    return datetime.fromisoformat(moment).timestamp()
