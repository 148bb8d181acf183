"""The wall clock is set while a run is executed.

The clock of this machine is nobody's to set in a test, and has no namespace: the clocks are
functions that the test gives. tests/integration/active/test_clock_steps.py has a real ping under
libfaketime.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from support.engine import SMALL, Bench, Observer, faulty
from support.fakes import FakeProbe
from support.schemas import validator

from sfcperf.active.base import ProbeResult
from sfcperf.control import session
from sfcperf.errors import ExitCode
from sfcperf.hosts import clock_watch
from sfcperf.hosts.clock_watch import ClockWatch
from sfcperf.management.deployment import Deployment
from sfcperf.presentation.wording import run_s
from sfcperf.results.values import Sample

HOUR_S = 3600.0


class Clock:
    """A wall clock that can be set."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> int:
        return time.time_ns() + int(self.ahead_s * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(session, "ClockWatch", lambda: ClockWatch(found))
    return found


def set_in_attempt(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, attempt: str, step_s: float
) -> None:
    """Set the clock while a trial is measured."""
    measure = FakeProbe.measure

    def wrapped(self: FakeProbe, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        clock.ahead_s += step_s if "/".join(raw_dir.parts[-2:]) == attempt else 0.0
        return measure(self, deployment, raw_dir)

    monkeypatch.setattr(FakeProbe, "measure", wrapped)


@pytest.mark.parametrize("step_s", [-HOUR_S, 2.5e9], ids=["an hour back", "to 2106"])
def test_a_step_within_a_trial_makes_it_untrusted(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    set_in_attempt(monkeypatch, clock, "r001-s001-a/attempt-1", step_s)
    listener = Observer()
    outcome = bench.start(listener, **SMALL)
    assert outcome.exit_code is ExitCode.SOME_TRIALS_BAD
    records = bench.by_id()
    assert [r.trial_id for r in records.values() if r.status != "valid"] == ["r001-s001-a"]
    [reason] = records["r001-s001-a"].reasons
    assert "this machine's clock was set" in reason
    manifest = bench.manifest()
    validator("run").validate(manifest)
    [step] = manifest["clock_steps"]
    assert step["trial_id"] == "r001-s001-a"
    assert step["step_s"] == pytest.approx(step_s, abs=0.1)
    assert any("clock was set" in text and "r001-s001-a" in text for text in listener.messages)
    assert any("clock was set" in text for text in manifest["problems"])


@pytest.mark.parametrize("step_s", [HOUR_S, -1.7e9], ids=["an hour ahead", "to 1970"])
def test_a_step_between_trials_is_noted(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    def ended(trials: int) -> None:
        clock.ahead_s += step_s if trials == 2 else 0

    listener = Observer(ended)
    outcome = bench.start(listener, **SMALL)
    assert outcome.exit_code is ExitCode.OK
    [step] = bench.manifest()["clock_steps"]
    assert (step["trial_id"], step["step_s"]) == (None, pytest.approx(step_s, abs=0.1))
    assert any("between trials" in text for text in listener.messages)


def test_a_step_within_an_attempt_that_fails_belongs_to_its_trial(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_in_attempt(monkeypatch, clock, "r001-s001-a/attempt-1", -HOUR_S)
    outcome = bench.start(probes=[faulty(attempt1="fail")], design=SMALL["design"])
    assert outcome.exit_code is ExitCode.OK
    assert [step["trial_id"] for step in bench.manifest()["clock_steps"]] == ["r001-s001-a"]


@pytest.mark.parametrize("value", [3_600_000_558.0, -3_599_999_000.0])
def test_a_time_longer_than_the_measurement_is_not_trusted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    """The clock of another machine, or one that was set back again: no difference is left."""
    before = FakeProbe.measure

    def measure(self: FakeProbe, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        found = before(self, deployment, raw_dir)
        return ProbeResult((Sample("rtt_us", "us", value),)) if "s001" in str(raw_dir) else found

    monkeypatch.setattr(FakeProbe, "measure", measure)
    # Long enough for the numbers of the others, 101 and 102 us.
    bench.start(**SMALL)
    bad = [record for record in bench.trials() if record.status == "untrusted"]
    assert {record.scenario_id for record in bad} == {"s001"}
    assert all("clock of the tool's machine was set" in r.reasons[0] for r in bad)


def test_durations_are_those_of_the_monotonic_clock(bench: Bench) -> None:
    bench.start(**SMALL)
    for record in bench.trials():
        assert record.duration_s is not None
        assert 0 < record.duration_s < 60
    manifest = bench.manifest()
    assert "clock_steps" not in manifest
    took_s = run_s(manifest)
    step = {"at": "", "step_s": -HOUR_S, "trial_id": None}
    assert took_s is not None
    assert run_s({**manifest, "clock_steps": [step]}) == pytest.approx(took_s + HOUR_S)


def test_slow_readings_are_no_steps() -> None:
    """This process is interrupted for up to 5 ms between any two looks at a clock."""
    rng, now = random.Random(1), [0]

    def clock_ns() -> int:
        now[0] += rng.randrange(5_000_000)
        return now[0]

    watch = ClockWatch(clock_ns, clock_ns)
    assert [watch.step_s() for _ in range(1000)] == [0.0] * 1000
    assert clock_watch.step_text(-HOUR_S) == "set 3600.000 s back"
    assert "suspended" in clock_watch.step_text(HOUR_S)
