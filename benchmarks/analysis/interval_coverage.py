"""How often intervals hold the truth and tests raise false alarms: tables of the documentation.

.venv/bin/python benchmarks/analysis/interval_coverage.py

The figures are those of docs/explanation/statistics.md. Some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy
from _runner import Benchmark, Row, Run
from scipy.special import stdtrit
from support.records.sequential import Array, Cell, grid, median_of, trials

from sfcperf.analysis.statistics import find_outliers, mean_interval, median_interval, steadiness
from sfcperf.analysis.statistics.dependence import dependence

CONFIDENCE = 0.95
DISPERSIONS = (0.02, 0.05, 0.10, 0.20, 0.40)
MINIMA = (6, 10, 20)
TARGETS = (0.02, 0.05, 0.10)
MAXIMA = (20, 100)


def replicated(run: Run) -> Iterator[Row]:
    """Coverage when three trials are counted, and when their twenty samples are."""
    random = numpy.random.default_rng(1)
    between = random.normal(100, 5, size=(run.repetitions, 3, 1))
    samples = between + random.normal(0, 5, size=(run.repetitions, 3, 20))
    by = {"trial": samples.mean(axis=2), "sample": samples.reshape(run.repetitions, 60)}
    for name, values in by.items():
        covers = (abs(values.mean(axis=1) - 100) <= _half_widths(values)).mean()
        yield Row(f"three trials of twenty samples, by {name}: covers", float(covers), "%")


def _half_widths(values: Array) -> Array:
    n = values.shape[1]
    return stdtrit(n - 1, (1 + CONFIDENCE) / 2) * values.std(axis=1, ddof=1) / numpy.sqrt(n)


def sequential(run: Run) -> Iterator[Row]:
    """Coverage of runs that stop by their results: with plain intervals, and with those for
    repeated looks. Lowest and highest over dispersions, targets and max_rounds; then one by one at
    target 5 %, max_rounds 20."""
    for shape in ("normal", "lognormal"):
        for minimum in MINIMA:
            plain, looks = (
                list(
                    grid(shape, DISPERSIONS, [minimum], TARGETS, MAXIMA, runs=run.repetitions,
                         adjusted=adjusted)
                )
                for adjusted in (False, True)
            )  # fmt: skip
            worst = min(range(len(plain)), key=lambda i: plain[i].coverage)
            rounds = (
                f"rounds in the worst case {plain[worst].needed:.1f} -> {looks[worst].needed:.1f}"
            )
            yield Row(
                f"stopping, {shape}, at least {minimum} trials: lowest", _least(looks), "%",
                "plain", _least(plain),
                remarks=f"highest {_most(looks):.1%}, plain {_most(plain):.1%}; {rounds}",
            )  # fmt: skip
    for dispersion in DISPERSIONS:
        plain, looks = (
            grid(
                "normal",
                [dispersion],
                MINIMA,
                [0.05],
                [20],
                runs=run.repetitions,
                adjusted=adjusted,
            )
            for adjusted in (False, True)
        )
        for minimum, a, b in zip(MINIMA, plain, looks, strict=True):
            name = f"stopping, dispersion {dispersion:.0%}, at least {minimum} trials: covers"
            rounds = f"rounds {a.needed:.1f} -> {b.needed:.1f}"
            yield Row(name, b.coverage, "%", "plain", a.coverage, remarks=rounds)


def _least(cells: Sequence[Cell]) -> float:
    return min(cell.coverage for cell in cells)


def _most(cells: Sequence[Cell]) -> float:
    return max(cell.coverage for cell in cells)


def shapes(run: Run) -> Iterator[Row]:
    """Fixed n: coverage of the mean (skewness-corrected and Student's t), and of the median."""
    for shape, dispersion in (("normal", 0.1), ("lognormal", 0.2), ("lognormal", 0.4)):
        for n in (6, 10, 20, 50, 100):
            values = trials(shape, dispersion, (run.repetitions, n), 2)
            rows = [list(row) for row in values]
            plain = float((abs(values.mean(axis=1) - 1) <= _half_widths(values)).mean())
            corrected = _covering(rows, 1, lambda row: mean_interval(row, CONFIDENCE))
            centre = median_of(shape, dispersion)
            median = _covering(rows, centre, lambda row: median_interval(row, CONFIDENCE))
            case = f"{shape} {dispersion:.0%}, n = {n}"
            yield Row(f"{case}, mean: covers", corrected, "%", "Student's t", plain)
            yield Row(f"{case}, median: covers", median, "%")


def _covering(rows: Sequence[list[float]], truth: float, interval: Callable[..., Any]) -> float:
    found = [interval(row) for row in rows]
    return float(numpy.mean([i.low <= truth <= i.high for i in found]))


def outlier_rules(run: Run) -> Iterator[Row]:
    """Rows in which a good trial is marked; remarks: in which one (two) 6 s off are marked."""
    rules = {"generalized ESD": find_outliers, "modified z > 3.5": _modified_z, "fences": _fences}
    for shape, dispersion in (("normal", 0.1), ("lognormal", 0.2)):
        for n in (5, 10, 20, 30):
            clean = trials(shape, dispersion, (run.repetitions, n), 4)
            one, two = clean.copy(), clean.copy()
            one[:, :1] += 6 * dispersion
            two[:, :2] += 6 * dispersion
            for name, rule in rules.items():
                marked = f"{_marking(rule, one, 1):.0%} ({_marking(rule, two, 2):.0%})"
                case = f"outliers, {shape} {dispersion:.0%}, n = {n}, {name}"
                yield Row(case, _marking(rule, clean, 0), "%", remarks=marked)


def _marking(rule: Callable[[Array], Sequence[int]], rows: Array, spoiled: int) -> float:
    marks = [set(rule(row)) for row in rows]
    hits = [set(range(spoiled)) <= found if spoiled else bool(found) for found in marks]
    return float(numpy.mean(hits))


def _modified_z(row: Array) -> Sequence[int]:
    """Iglewicz & Hoaglin (1993)."""
    deviations = row - numpy.median(row)
    scale = numpy.median(abs(deviations))
    return [int(i) for i in numpy.flatnonzero(0.6745 * abs(deviations) > 3.5 * scale)]


def _fences(row: Array) -> Sequence[int]:
    low, high = numpy.percentile(row, [25, 75])
    reach = 1.5 * (high - low)
    return [int(i) for i in numpy.flatnonzero((row < low - reach) | (row > high + reach))]


def dependent(run: Run) -> Iterator[Row]:
    """Rows of trials in an order of no meaning, and of others, with a warning."""
    random = numpy.random.default_rng(5)
    for n in (6, 10, 20, 50):
        size = (run.repetitions, n)
        kinds = {
            "no meaning": random.normal(size=size),
            "AR(1) 0.6": _autoregressive(random, size, 0.6),
            "a drift of 2 s": random.normal(size=size) + numpy.linspace(-1, 1, n),
        }
        for name, rows in kinds.items():
            found = [dependence(list(row)) for row in rows]
            autocorrelated = float(numpy.mean([one.is_autocorrelated for one in found]))
            trends = float(numpy.mean([one.has_trend for one in found]))
            yield Row(f"order of {name}, n = {n}: autocorrelation", autocorrelated, "%")
            yield Row(f"order of {name}, n = {n}: trend", trends, "%")


def _autoregressive(
    random: numpy.random.Generator, size: tuple[int, int], coefficient: float
) -> Array:
    """First-order, of variance 1."""
    noise = random.normal(size=size)
    values = noise.copy()
    for place in range(1, size[1]):
        innovation = (1 - coefficient**2) ** 0.5 * noise[:, place]
        values[:, place] = coefficient * values[:, place - 1] + innovation
    return values


def warm_up(run: Run) -> Iterator[Row]:
    """Samples within three trials: share called steady."""
    random = numpy.random.default_rng(6)
    runs = run.repetitions
    for length in (20, 100):
        noise = random.normal(size=(runs, 3, length))
        decay = 4 * numpy.exp(-numpy.arange(length) / (length / 10))
        first = numpy.where(numpy.arange(length) == 0, 6, 0)
        correlated = _autoregressive(random, (10 * runs, length), 0.5)[: 3 * runs]
        for name, rows in (
            ("noise", noise),
            ("AR(1) 0.5", correlated.reshape(runs, 3, length)),
            ("first sample 6 s slow", noise + first),
            ("decay from 4 s", noise + decay),
            ("ramp over 6 s", noise + numpy.linspace(0, 6, length)),
        ):
            states = [steadiness(list(row)).state for row in rows]
            steady, warming, never = (
                states.count(s) / len(states) for s in ("steady", "warm-up", "never")
            )
            others = f"warm-up {warming:.1%}, never {never:.1%}"
            yield Row(f"{length} samples, {name}: steady", steady, "%", remarks=others)


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {
            replicated: 20_000, sequential: 20_000, shapes: 3_000, outlier_rules: 3_000,
            dependent: 3_000, warm_up: 300,
        },
    ).main()  # fmt: skip
