"""What intervals and tests promise, held against simulated trials of which the truth is known.

The bounds leave room for the chance of so many simulated runs, and no more; seeds are fixed.
benchmarks/analysis/interval_coverage.py prints the whole tables of docs/explanation/statistics.md.
"""

from __future__ import annotations

import numpy
import pytest
from support.records.sequential import Array, grid, looks, trials

from sfcperf.analysis.statistics import (
    Interval,
    Rules,
    estimate_of,
    find_outliers,
    mean_interval,
    median_interval,
    steadiness,
)
from sfcperf.analysis.statistics.dependence import dependence
from sfcperf.analysis.stopping import stop_reason
from sfcperf.workflow.model import Design, StopWhen

DISPERSIONS = (0.02, 0.05, 0.1, 0.2, 0.4)
MINIMA = (6, 10)
TARGETS = (0.02, 0.05, 0.1)
MAXIMA = (20, 60)


def covering(intervals: list[Interval | None], truth: float) -> float:
    """Share of intervals that hold the truth; each must exist."""
    assert all(intervals)
    return float(numpy.mean([i is not None and i.low <= truth <= i.high for i in intervals]))


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("shape", ["normal", "lognormal"])
def test_sequential_stopping_keeps_coverage(shape: str) -> None:
    """93-97.2 % in the whole grid, and the chance of 4,000 runs; the highest coverage is where luck
    can stop no run, because the first look is always enough or none ever is
    (docs/explanation/statistics.md).
    """
    cells = list(grid(shape, DISPERSIONS, MINIMA, TARGETS, MAXIMA, runs=4_000))
    assert len(cells) == 60
    chance = 3 * (0.05 * 0.95 / 4_000) ** 0.5
    for cell in cells:
        assert 0.93 - chance <= cell.coverage <= 0.972 + chance, cell
    assert 0.945 <= numpy.mean([cell.coverage for cell in cells]) <= 0.97


def test_without_the_adjustment_coverage_is_lost() -> None:
    """The simulation sees what it is there to see."""
    cells = grid("normal", [0.05], [6], [0.02], [60], runs=4_000, adjusted=False)
    assert next(cells).coverage < 0.925


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(("confidence", "low", "high"), [(0.9, 0.88, 0.95), (0.99, 0.984, 0.997)])
def test_other_confidences_keep_theirs(confidence: float, low: float, high: float) -> None:
    cells = grid(
        "normal", (0.05, 0.1, 0.2), (8, 12), (0.05,), MAXIMA, runs=4_000, confidence=confidence
    )
    for cell in cells:
        assert low <= cell.coverage <= high, cell


def test_the_simulation_stops_where_sfcperf_stops() -> None:
    design = Design(6, 1, "sequential", 1, 0.95, StopWhen(0.05, 20), 2)
    for values in trials("lognormal", 0.06, (40, 20), 3):
        medians, lows, highs = (one[0] for one in looks(values[None, :], 6, 0.95, adjusted=True))
        drifting = [_drifts(values[:n]) for n in range(6, 21)]
        narrow = ((highs - lows) / 2 / abs(medians) <= 0.05) & ~numpy.array(drifting)
        expected = 6 + int(narrow.argmax()) if narrow.any() else 20
        keys = ("ping", "rtt_us")
        known = values.tolist()
        stopped = next(n for n in range(1, 21) if stop_reason(design, n, {keys: known[:n]}))
        assert stopped == expected
        found = estimate_of(known[:stopped], Rules(first_look=6)).interval
        if not drifting[stopped - 6]:
            assert found is not None and found.method.endswith("repeated looks")
            assert (found.low, found.high) == pytest.approx((lows[stopped - 6], highs[stopped - 6]))


def _drifts(values: Array) -> bool:
    return dependence(values.tolist()).has_trend


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_intervals_cover_the_mean(n: int) -> None:
    values = trials("normal", 0.1, (3000, n), 1)
    assert 0.938 <= covering([mean_interval(list(row), 0.95) for row in values], 1) <= 0.962


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(("shape", "n"), [("normal", 6), ("lognormal", 11), ("lognormal", 30)])
def test_intervals_cover_the_median(shape: str, n: int) -> None:
    values = trials(shape, 0.4, (3000, n), 2)
    truth = 1.0 if shape == "normal" else float(numpy.exp(-numpy.log1p(0.16) / 2))
    found = covering([median_interval(list(row), 0.95) for row in values], truth)
    assert 0.938 <= found <= 0.962


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("n", [3, 10, 40])
def test_intervals_of_the_mean_cover_skewed_trials_too(n: int) -> None:
    values = trials("lognormal", 0.4, (2000, n), 4)
    assert 0.93 <= covering([mean_interval(list(row), 0.95) for row in values], 1) <= 0.97


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("n", [5, 10, 30, 100])
def test_outliers_are_seen_in_one_normal_row_in_a_hundred(n: int) -> None:
    values = trials("normal", 0.1, (3000, n), 7)
    assert 0.004 <= numpy.mean([bool(find_outliers(list(row))) for row in values]) <= 0.022


def test_two_outliers_do_not_hide_each_other() -> None:
    values = trials("normal", 1, (500, 20), 8)
    values[:, :2] += 6
    assert numpy.mean([{0, 1} <= set(find_outliers(list(row))) for row in values]) > 0.75


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("n", [6, 10, 30])
def test_order_is_seen_in_one_row_in_a_hundred_that_has_none(n: int) -> None:
    found = [dependence(list(row)) for row in trials("lognormal", 0.4, (1000, n), 9)]
    assert numpy.mean([one.is_autocorrelated for one in found]) <= 0.02
    assert numpy.mean([one.has_trend for one in found]) <= 0.02


def test_order_is_seen_where_there_is_one() -> None:
    random = numpy.random.default_rng(10)
    walks = random.normal(size=(200, 30)).cumsum(axis=1)
    drifts = random.normal(size=(200, 15)) + numpy.linspace(0, 4, 15)
    assert numpy.mean([dependence(list(row)).is_autocorrelated for row in walks]) > 0.9
    assert numpy.mean([dependence(list(row)).has_trend for row in drifts]) > 0.75


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(("repetitions", "length"), [(1, 20), (3, 20), (5, 100)])
def test_a_warm_up_is_seen_in_one_of_a_hundred_steady_rows(repetitions: int, length: int) -> None:
    assert numpy.mean([s != "steady" for s in states(series(1000, repetitions, length))]) <= 0.02


def test_a_warm_up_is_seen_and_its_end_found() -> None:
    slow_first = series(200, 3, 20)
    slow_first[:, :, 0] += 6
    assert numpy.mean([s == "warm-up" for s in states(slow_first)]) > 0.8
    ends = [steadiness(list(one)).after for one in slow_first]
    assert numpy.median([end for end in ends if end]) == 2
    ramps = series(200, 3, 100) + numpy.linspace(0, 6, 100)
    assert numpy.mean([s == "never" for s in states(ramps)]) > 0.9


def series(rows: int, repetitions: int, length: int) -> Array:
    """Trials with levels of their own, and noise of 1 within them."""
    random = numpy.random.default_rng(11)
    levels = 100 + random.normal(0, 2, (rows, repetitions, 1))
    return levels + random.normal(0, 1, (rows, repetitions, length))


def states(rows: Array) -> list[str]:
    return [steadiness(list(row)).state for row in rows]
