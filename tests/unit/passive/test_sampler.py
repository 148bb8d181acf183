import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.passive.sampling import Sampler
from sfcperf.results.values import Observation


class Source:
    """Counts its calls; the calls in `bad` fail; `enough` is set after `wanted` calls."""

    def __init__(self, wanted: int, bad: frozenset[int] = frozenset()) -> None:
        self.calls = 0
        self.threads: set[int] = set()
        self.enough = threading.Event()
        self._wanted = wanted
        self._bad = bad

    def __call__(self, time_ns: int) -> Iterator[Observation]:
        self.calls += 1
        self.threads.add(threading.get_ident())
        if self.calls >= self._wanted:
            self.enough.set()
        if self.calls in self._bad:
            raise MeasurementError(f"call {self.calls} was to fail")
        yield Observation(time_ns, "x", "calls", "1", self.calls)


def values(observations: list[Observation], metric: str) -> list[float]:
    return [o.value for o in observations if o.metric == metric]


def test_samples_at_start_periodically_and_at_the_end(tmp_path: Path) -> None:
    source = Source(wanted=5)
    sampler = Sampler("test", 0.01, source, tmp_path / "errors")
    sampler.start()
    assert source.calls >= 1
    assert source.enough.wait(10)
    observations = sampler.stop()
    assert values(observations, "calls") == list(range(1, source.calls + 1))
    assert source.calls > 5
    assert [o.time_ns for o in observations] == sorted(o.time_ns for o in observations)
    assert len(source.threads) == 2  # the caller's and the sampler's own


def test_says_what_it_cost_and_stops_without_waiting_for_the_interval(tmp_path: Path) -> None:
    def busy(time_ns: int) -> list[Observation]:
        sum(range(200_000))
        return []

    # A stop that waited for the interval of an hour would hang this test.
    sampler = Sampler("busy", 3600, busy, tmp_path / "errors")
    sampler.start()
    sampler.add_cpu_s(100)
    (cost,) = sampler.stop()
    assert (cost.source, cost.metric, cost.unit) == ("busy", "monitor_cpu_s", "s")
    assert cost.value > 100


def test_survives_errors_and_tells_them(tmp_path: Path) -> None:
    source = Source(wanted=6, bad=frozenset({2, 4}))
    sampler = Sampler("test", 0.01, source, tmp_path / "errors")
    sampler.start()
    assert source.enough.wait(10)
    observations = sampler.stop()
    assert values(observations, "calls")[:4] == [1, 3, 5, 6]
    assert values(observations, "monitor_errors") == [2]
    lines = (tmp_path / "errors").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        "MeasurementError: call 2 was to fail",
        "MeasurementError: call 4 was to fail",
    ]


def test_what_cannot_work_fails_at_the_start(tmp_path: Path) -> None:
    sampler = Sampler("test", 0.01, Source(wanted=1, bad=frozenset({1})), tmp_path / "errors")
    before = threading.active_count()
    with pytest.raises(MeasurementError):
        sampler.start()
    assert threading.active_count() == before


def test_a_slow_sample_leaves_out_those_that_it_missed(tmp_path: Path) -> None:
    """A sample that takes many intervals is not followed by a burst that makes up for them."""
    blocked, go_on, again = threading.Event(), threading.Event(), threading.Event()
    times: list[int] = []

    def sample(time_ns: int) -> list[Observation]:
        times.append(time_ns)
        if len(times) == 2:
            blocked.set()
            go_on.wait(10)
        if len(times) == 6:
            again.set()
        return []

    interval_s = 0.02
    sampler = Sampler("test", interval_s, sample, tmp_path / "errors")
    sampler.start()
    assert blocked.wait(10)
    threading.Event().wait(10 * interval_s)
    go_on.set()
    assert again.wait(10)
    sampler.stop()
    passed_s = (times[5] - times[1]) / 1e9
    # 10 intervals blocked, then one to the next due time (up to) and three more.
    assert passed_s > 10 * interval_s + 2 * interval_s
