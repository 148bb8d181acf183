"""The monitor `diagnostics` over instances whose counts are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.passive import sampling
from sfcperf.passive.diagnostics import DiagnosticsMonitor
from sfcperf.results.values import Observation

Answers = Iterable[Mapping[str, float] | MeasurementError]


class Instance:
    """Gives one answer after the other, the last again and again."""

    def __init__(self, answers: Answers) -> None:
        self._answers = list(answers)

    def __call__(self) -> Mapping[str, float]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, MeasurementError):
            raise answer
        return answer


class Clock:
    """Steps of one second, however many threads ask."""

    now_s = 0.0

    def middle_s(self) -> float:
        return Clock.now_s


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DiagnosticsMonitor]:
    monkeypatch.setattr("sfcperf.passive.diagnostics.SampleTime", Clock)
    Clock.now_s = 100.0

    def begun(**instances: Answers) -> DiagnosticsMonitor:
        monitor = DiagnosticsMonitor({"interval_s": 1})
        monitor.begin(deployment({name: Instance(a) for name, a in instances.items()}))
        return monitor

    return begun


def deployment(diagnostics: Mapping[str, Callable[[], Mapping[str, float]]]) -> Deployment:
    return cast(Any, Deployment)("d", None, None, (), (), {}, "none", diagnostics=diagnostics)


def sampled(monitor: DiagnosticsMonitor) -> dict[tuple[str, str], tuple[float, str]]:
    Clock.now_s += 2.0
    return shown(monitor.sample(0))


def shown(observations: Iterable[Observation]) -> dict[tuple[str, str], tuple[float, str]]:
    return {(o.source, o.metric): (o.value, o.unit) for o in observations}


def test_amounts_and_counts_as_they_rise(begin: Callable[..., DiagnosticsMonitor]) -> None:
    monitor = begin(
        fwd=[
            {"cpu_s": 7.0, "memory_bytes": 4096, "in/rx_packets": 10, "in/rx_bytes": 1000},
            {"cpu_s": 8.0, "memory_bytes": 8192, "in/rx_packets": 40, "in/rx_bytes": 2000},
            {"cpu_s": 8.5, "memory_bytes": 8192, "in/rx_packets": 40, "in/rx_bytes": 2000},
        ]
    )
    assert sampled(monitor) == {("fwd", "outside_memory_bytes"): (4096, "B")}
    assert sampled(monitor) == {
        ("fwd", "outside_memory_bytes"): (8192, "B"),
        ("fwd", "outside_cpu_s"): (1.0, "s"),
        ("fwd", "outside_cpu_cores"): (0.5, "1"),
        ("fwd/in", "outside_rx_packets"): (30, "1"),
        ("fwd/in", "outside_rx_pps"): (15, "1/s"),
        ("fwd/in", "outside_rx_bytes"): (1000, "B"),
        ("fwd/in", "outside_rx_bps"): (4000, "bit/s"),
    }
    sampled(monitor)
    totals = shown(monitor.totals(0))
    assert totals["fwd", "outside_cpu_s_total"] == (1.5, "s")
    assert totals["fwd/in", "outside_rx_packets_total"] == (30, "1")
    assert ("fwd", "outside_memory_bytes_total") not in totals


def test_what_comes_later_counts_from_then_on(begin: Callable[..., DiagnosticsMonitor]) -> None:
    monitor = begin(
        fwd=[{}, {"cpu_s": 5.0}, {"cpu_s": 6.0, "measure_age_s": 30.0}, {"cpu_s": 6.1}],
        nat=[{"disk_read_bytes": 900}, {"disk_read_bytes": 50}],
    )
    assert sampled(monitor) == {}
    assert sampled(monitor) == {("nat", "outside_disk_read_bytes"): (50, "B")}
    assert sampled(monitor) == {
        ("fwd", "outside_cpu_s"): (1.0, "s"),
        ("fwd", "outside_cpu_cores"): (0.5, "1"),
        ("fwd", "outside_measure_age_s"): (30.0, "s"),
        ("nat", "outside_disk_read_bytes"): (0, "B"),
    }
    # No rate over a sliver of time.
    Clock.now_s += 0.1 - 2.0
    assert ("fwd", "outside_cpu_cores") not in sampled(monitor)


def test_one_without_answer_hides_no_other(begin: Callable[..., DiagnosticsMonitor]) -> None:
    broken = MeasurementError("nova is away")
    monitor = begin(a=[{"memory_bytes": 1}], b=[broken], c=[{"memory_bytes": 3}])
    seen: list[Observation] = []
    with pytest.raises(MeasurementError, match="nova is away"):
        seen.extend(monitor.sample(0))
    assert sorted(o.source for o in seen) == ["a", "c"]  # threads ask, in any order


def test_what_cannot_work_fails_at_the_start(tmp_path: Path) -> None:
    forbidden = Instance([MeasurementError("nova lets administrators only")])
    for instances, message in (
        ({}, "does not report on its instances from outside"),
        ({"fwd": forbidden}, "administrators only"),
    ):
        monitor = DiagnosticsMonitor({"interval_s": 1})
        with pytest.raises(MeasurementError, match=message):
            monitor.start(deployment(instances), tmp_path)
        monitor.stop()


def test_a_whole_trial(tmp_path: Path) -> None:
    """With its thread, real time, and its own cost."""
    monitor = DiagnosticsMonitor({"interval_s": 0.05})
    asked: list[float] = []

    def answer() -> Mapping[str, float]:
        asked.append(0.05 * len(asked))
        return {"cpu_s": asked[-1]}

    monitor.start(deployment({"fwd": answer}), tmp_path)
    assert retry.until(lambda: len(asked) >= 5, timeout_s=60, period_s=0.01)
    told = monitor.stop()
    times = [o.time_ns for o in told if o.metric == "outside_cpu_s"]
    assert times == sorted(times)
    cores = [(o.time_ns, o.value) for o in told if o.metric == "outside_cpu_cores"]
    assert len(cores) >= 3
    for (before_ns, _), (after_ns, value) in pairwise(cores):
        assert value * (after_ns - before_ns) / 1e9 == pytest.approx(0.05, rel=0.5)
    assert {"monitor_cpu_s", "outside_cpu_s_total"} <= {o.metric for o in told}
    assert isinstance(monitor, sampling.SamplingMonitor)
    assert not list(tmp_path.iterdir())
