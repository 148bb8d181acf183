"""How long a run still takes, as the bar and those who watch it from elsewhere say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.bench import bench
from support.engine import SMALL, Bench

from sfcperf.control.live import LiveRun, look_at
from sfcperf.presentation.time_left import RemainingTime, time_left_of
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import deploy_s, trial_groups, trial_s

__all__ = ["bench"]

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_time_left_is_that_of_the_plan_until_trials_tell_better() -> None:
    clock = Clock()
    left = RemainingTime(clock)
    assert str(left) == ""
    clock.now_s += 50
    left.add(80)
    assert str(left) == "about 80 s left, as planned"
    clock.now_s += 20
    left.trial_ended(10)
    assert str(left) == "about 2 min left, trials take 2.0 times as long as planned"
    clock.now_s += 5
    assert left.left_s == pytest.approx(135)
    left.add(10)
    assert left.left_s == pytest.approx(155)


def test_the_error_of_the_time_left_is_that_of_the_trials_so_far() -> None:
    """Against the totals of trials that scatter alike, drawn many times."""
    import numpy as np

    draw, held, runs = np.random.default_rng(19), 0, 2000
    for took in draw.normal(20.0, 4.0, (runs, 30)):
        left = RemainingTime(clock := Clock())
        left.add(300)
        for one in took[:10]:
            clock.now_s += float(one)
            left.trial_ended(10)
        error = left.relative_error
        held += abs(took[10:].sum() / left.left_s - 1) <= error
    # 95 % for a normal distribution; with its quantile in place of Student's, of 10 trials, 92 %.
    assert 0.90 < held / runs < 0.97


def test_in_the_end_it_says_what_was_planned() -> None:
    left = RemainingTime(clock := Clock())
    left.add(0.1 + 0.2)
    for planned in (0.1, 0.2):
        clock.now_s += 60
        left.trial_ended(planned)
    assert str(left) == "trials took 2 min, 0 s were planned"


def test_who_watches_reads_what_the_bar_says(bench: Bench) -> None:
    """Fed with the same run: two warm-up trials, and two of the four planned ones."""
    changes = {**SMALL, "design": {"rounds": 2, "warmup_rounds": 1}}
    workflow = load_document(bench.document(**changes), bench.results)
    bench.start(**changes)
    groups = [*trial_groups(workflow, 1, warmup=True)]
    groups += [group for number in (1, 2) for group in trial_groups(workflow, number)]
    trials = [(group, trial) for group in groups for trial in group.trials]
    ends_s = [20.0, 40.0, 70.0, 85.0]
    shown = RemainingTime(clock := Clock())
    shown.add(sum(deploy_s(group.scenario) + trial_s(trial) for group, trial in trials))
    for (group, trial), end_s in zip(trials, ends_s, strict=False):
        clock.now_s = end_s
        shown.trial_ended(deploy_s(group.scenario) + trial_s(trial))
    clock.now_s += 5
    live = _seen(bench, [trial.trial_id for _, trial in trials], ends_s, clock.now_s)
    found = time_left_of(live, workflow)
    # The first deployment is not in a record: it began before the trial, at a moment unknown.
    assert found.planned_s == pytest.approx(shown.planned_s - deploy_s(groups[0].scenario))
    assert found.ratio == pytest.approx(85 / found.planned_s)
    to_come_s = sum(deploy_s(group.scenario) + trial_s(trial) for group, trial in trials[4:])
    assert found.left_s == pytest.approx(found.ratio * to_come_s - 5)
    assert str(found).startswith(f"about {found.left_s:.0f} s left (± ")
    assert str(found).partition(", ")[2].startswith("trials take ")


def _seen(bench: Bench, order: list[str], ends_s: list[float], now_s: float) -> LiveRun:
    """The finished run of the bench, as it was when the first trials of an order had ended."""
    ended = look_at(RunStore(bench.folder()))
    records = {record.trial_id: record for record in [*ended.warmups, *ended.trials]}

    def at(seconds: float) -> str:
        return (BEGAN + timedelta(seconds=seconds)).isoformat()

    shown: list[TrialRecord] = [
        replace(records[trial_id], started_at=at(end_s - 20), ended_at=at(end_s))
        for trial_id, end_s in zip(order, ends_s, strict=False)
    ]
    session = {**ended.manifest["sessions"][-1], "started_at": at(-60)}
    return replace(
        ended,
        manifest={**ended.manifest, "status": "running", "stopping": {}, "sessions": [session]},
        warmups=[record for record in shown if record.trial_id.startswith("w")],
        trials=[record for record in shown if record.trial_id.startswith("r")],
        is_alive=True,
        seen_at=BEGAN + timedelta(seconds=now_s),
    )


def test_before_the_first_trial_the_plan_tells_and_after_the_last_nothing(bench: Bench) -> None:
    workflow = load_document(bench.document(**SMALL), bench.results)
    bench.start(**SMALL)
    found = time_left_of(_seen(bench, [], [], 30.0), workflow)
    groups = [group for number in (1, 2) for group in trial_groups(workflow, number)]
    planned_s = sum(deploy_s(group.scenario) + trial_s(group.trials[0]) for group in groups)
    assert found.left_s == pytest.approx(planned_s)
    assert str(found).endswith(" s left, as planned")
    assert time_left_of(look_at(RunStore(bench.folder())), workflow) is None
    order, ends_s = bench.planned(**SMALL), [20.0, 40.0, 60.0, 80.0]
    assert time_left_of(_seen(bench, order, ends_s, 81.0), workflow) is None
    assert time_left_of(_seen(bench, order, ends_s[:3], 61.0), workflow)


def test_a_resumed_run_warms_up_again_and_counts_its_own_trials(bench: Bench) -> None:
    changes = {**SMALL, "design": {"rounds": 2, "warmup_rounds": 1}}
    workflow = load_document(bench.document(**changes), bench.results)
    bench.start(**changes)
    warmups = [t for group in trial_groups(workflow, 1, warmup=True) for t in group.trials]
    order = [*(trial.trial_id for trial in warmups), *bench.planned(**changes)]
    # The last session began after the warm-up and the first two trials.
    seen = _seen(bench, order, [20.0, 40.0, 60.0, 80.0], 100.0)
    began = (BEGAN + timedelta(seconds=90)).isoformat()
    session = {**seen.manifest["sessions"][-1], "started_at": began}
    found = time_left_of(replace(seen, manifest={**seen.manifest, "sessions": [session]}), workflow)
    again = list(trial_groups(workflow, 1, warmup=True))
    again += trial_groups(workflow, 2)
    expected_s = sum(deploy_s(group.scenario) + trial_s(group.trials[0]) for group in again)
    assert (found.took_s, found.left_s) == (0, pytest.approx(expected_s))
