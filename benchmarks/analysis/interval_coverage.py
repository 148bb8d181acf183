"""How often intervals hold the truth and tests raise false alarms: tables of the documentation.

.venv/bin/python benchmarks/analysis/interval_coverage.py

docs/explanation/statistics.md shows what this prints. Some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy
from scipy.special import stdtrit
from support.records.sequential import Array, Cell, grid, median_of, trials

from sfcperf.analysis.statistics import find_outliers, mean_interval, median_interval, steadiness
from sfcperf.analysis.statistics.dependence import dependence

RUNS = 20_000
ROWS = 3_000
CONFIDENCE = 0.95
DISPERSIONS = (0.02, 0.05, 0.10, 0.20, 0.40)
MINIMA = (6, 10, 20)
TARGETS = (0.02, 0.05, 0.10)
MAXIMA = (20, 100)


def main() -> None:
    """Print all tables."""
    by_trial, by_sample = _replicated()
    print(f"three trials of twenty samples: by trial {by_trial:.1%}, by sample {by_sample:.1%}\n")
    _sequential()
    _shapes()
    _outlier_rules()
    _dependence()
    _warm_up()


def _replicated() -> tuple[float, float]:
    """Coverage when trials are counted, and when their samples are."""
    random = numpy.random.default_rng(1)
    between = random.normal(100, 5, size=(RUNS, 3, 1))
    samples = between + random.normal(0, 5, size=(RUNS, 3, 20))
    by_trial, by_sample = (
        float((abs(values.mean(axis=1) - 100) <= _half_widths(values)).mean())
        for values in (samples.mean(axis=2), samples.reshape(RUNS, 60))
    )
    return by_trial, by_sample


def _half_widths(values: Array) -> Array:
    n = values.shape[1]
    return stdtrit(n - 1, (1 + CONFIDENCE) / 2) * values.std(axis=1, ddof=1) / numpy.sqrt(n)


def _sequential() -> None:
    print(f"sequential stopping, nominal {CONFIDENCE:.0%}: lowest ... highest coverage over")
    print(f"dispersions {DISPERSIONS}, targets {TARGETS}, max_rounds {MAXIMA}")
    print("trials     minimum   plain              for repeated looks   rounds (worst case)")
    for shape in ("normal", "lognormal"):
        for minimum in MINIMA:
            plain, adjusted = (_cells(shape, minimum, looks) for looks in (False, True))
            worst = min(range(len(plain)), key=lambda i: plain[i].coverage)
            before, after = plain[worst].needed, adjusted[worst].needed
            print(
                f"{shape:10} {minimum:7}   {_span(plain)}    {_span(adjusted)}      "
                f"{before:.1f} -> {after:.1f}"
            )
    print("\nthe same at target 5 %, max_rounds 20, normal: coverage plain -> adjusted (rounds)")
    for dispersion in DISPERSIONS:
        pairs = zip(*(_row(dispersion, looks) for looks in (False, True)), strict=True)
        row = [
            f"{a.coverage:.1%} -> {b.coverage:.1%} ({a.needed:.1f} -> {b.needed:.1f})"
            for a, b in pairs
        ]
        print(f"  {dispersion:4.0%}: {'   '.join(row)}")
    print()


def _cells(shape: str, minimum: int, adjusted: bool) -> list[Cell]:
    return list(grid(shape, DISPERSIONS, [minimum], TARGETS, MAXIMA, runs=RUNS, adjusted=adjusted))


def _row(dispersion: float, adjusted: bool) -> list[Cell]:
    return list(grid("normal", [dispersion], MINIMA, [0.05], [20], runs=RUNS, adjusted=adjusted))


def _span(cells: Sequence[Cell]) -> str:
    coverages = [cell.coverage for cell in cells]
    return f"{min(coverages):.1%} ... {max(coverages):.1%}"


def _shapes() -> None:
    print("fixed n: coverage of the mean (Student's t, skewness-corrected t) and of the median")
    print("trials          n      t     corrected   median")
    for shape, dispersion in (("normal", 0.1), ("lognormal", 0.2), ("lognormal", 0.4)):
        for n in (6, 10, 20, 50, 100):
            values = trials(shape, dispersion, (ROWS, n), 2)
            rows = [list(row) for row in values]
            plain = float((abs(values.mean(axis=1) - 1) <= _half_widths(values)).mean())
            corrected = _covering(rows, 1, lambda row: mean_interval(row, CONFIDENCE))
            centre = median_of(shape, dispersion)
            median = _covering(rows, centre, lambda row: median_interval(row, CONFIDENCE))
            print(f"{shape:9} {dispersion:4.0%} {n:4}  {plain:.1%}   {corrected}   {median}")
    print()


def _covering(rows: Sequence[list[float]], truth: float, interval: Callable[..., object]) -> str:
    found = [interval(row) for row in rows]
    return f"{numpy.mean([i.low <= truth <= i.high for i in found]):.1%}"  # type: ignore[attr-defined]


def _outlier_rules() -> None:
    print("rows in which a good trial is marked; rows in which one (two) 6 s off are marked, all")
    print("trials          n    generalized ESD   modified z > 3.5   Tukey's fences")
    for shape, dispersion in (("normal", 0.1), ("lognormal", 0.2)):
        for n in (5, 10, 20, 30):
            clean = trials(shape, dispersion, (ROWS, n), 4)
            one, two = clean.copy(), clean.copy()
            one[:, :1] += 6 * dispersion
            two[:, :2] += 6 * dispersion
            cells = [
                f"{_marking(rule, clean, 0):.1%} {_marking(rule, one, 1):.0%} "
                f"({_marking(rule, two, 2):.0%})"
                for rule in (find_outliers, _modified_z, _fences)
            ]
            print(f"{shape:9} {dispersion:4.0%} {n:4}    {'    '.join(cells)}")
    print()


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


def _dependence() -> None:
    print("trials in an order of no meaning: rows with a warning; of AR(1) 0.6; of a drift of 2 s")
    random = numpy.random.default_rng(5)
    for n in (6, 10, 20, 50):
        kinds = (
            random.normal(size=(ROWS, n)),
            _autoregressive(random, n, 0.6),
            random.normal(size=(ROWS, n)) + numpy.linspace(-1, 1, n),
        )
        cells = []
        for rows in kinds:
            found = [dependence(list(row)) for row in rows]
            autocorrelated = numpy.mean([one.is_autocorrelated for one in found])
            trends = numpy.mean([one.has_trend for one in found])
            cells.append(f"autocorrelation {autocorrelated:.1%}, trend {trends:.1%}")
        print(f"  n = {n:3}: {'   '.join(cells)}")
    print()


def _autoregressive(random: numpy.random.Generator, n: int, coefficient: float) -> Array:
    """First-order, of variance 1."""
    noise = random.normal(size=(ROWS, n))
    values = noise.copy()
    for place in range(1, n):
        innovation = (1 - coefficient**2) ** 0.5 * noise[:, place]
        values[:, place] = coefficient * values[:, place - 1] + innovation
    return values


def _warm_up() -> None:
    print("samples within trials: steady / warm-up / never, of three trials each")
    random = numpy.random.default_rng(6)
    for length in (20, 100):
        noise = random.normal(size=(300, 3, length))
        decay = 4 * numpy.exp(-numpy.arange(length) / (length / 10))
        first = numpy.where(numpy.arange(length) == 0, 6, 0)
        for name, rows in (
            ("noise", noise),
            ("AR(1) 0.5", _autoregressive_series(random, length)),
            ("first sample 6 s slow", noise + first),
            ("decay from 4 s", noise + decay),
            ("ramp over 6 s", noise + numpy.linspace(0, 6, length)),
        ):
            states = [steadiness(list(row)).state for row in rows]
            shares = (states.count(s) / len(states) for s in ("steady", "warm-up", "never"))
            print(f"  {length:3} samples, {name:22}: {' / '.join(f'{s:.1%}' for s in shares)}")


def _autoregressive_series(random: numpy.random.Generator, length: int) -> Array:
    return _autoregressive(random, length, 0.5)[:900].reshape(300, 3, length)


if __name__ == "__main__":
    main()
