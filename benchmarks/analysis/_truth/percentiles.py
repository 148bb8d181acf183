"""How often the intervals of a typical trial's percentiles contain the true ones.

The truth is the median over all trials of the percentile of a trial's distribution. Trials differ
by a normal (or slow) level and have samples of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp, sqrt

import numpy as np
from _runner import Budget, Row
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from _truth.claims import LEAST_COVERAGE, MOST_COVERAGE
from sfcperf.analysis.statistics import Rules
from sfcperf.analysis.statistics.typical import TYPICAL_PERCENTILES, typical_percentiles

SLOW_SHARE, SLOW = 0.05, 8.0
"""Of the samples, or of the trials, and by how many standard deviations of a sample."""


@dataclass(frozen=True)
class PercentileRow:
    """Trials with samples."""

    kind: str
    """`normal`, `lognormal`, `slow samples` or `slow trials`."""
    trials: int
    samples: int
    between: float = 1.0
    """Standard deviation between trials over that within."""
    seed: int = 1
    """Rows with another seed are held back."""


ROWS = (
    *(
        PercentileRow(kind, trials, samples)
        for kind in ("normal", "lognormal", "slow samples", "slow trials")
        for trials in (6, 10, 20, 30)
        for samples in (20, 100, 1000)
    ),
    *(PercentileRow("lognormal", trials, 300, 0.1) for trials in (6, 30)),
    PercentileRow("slow samples", 15, 30, 0.2, seed=81),
    PercentileRow("slow trials", 25, 400, 0.3, seed=82),
    PercentileRow("lognormal", 12, 60, 2.0, seed=83),
)


def name_of(row: PercentileRow) -> str:
    """What is simulated."""
    return (
        f"percentiles: {row.kind}, {row.trials} trials of {row.samples} samples, "
        f"sd between x {row.between:g}"
    )


def judge(row: PercentileRow, repeats: int) -> list[Row]:
    """Coverage of the percentile that is farthest from what is promised, and of all; `-` where the
    interval is withheld."""
    random = np.random.default_rng(row.seed)
    truth = {percent: _truth(row, percent) for percent in TYPICAL_PERCENTILES}
    covered = dict.fromkeys(TYPICAL_PERCENTILES, 0)
    shown = dict.fromkeys(TYPICAL_PERCENTILES, 0)
    for _ in range(repeats):
        trials = _drawn(row, random)
        found = typical_percentiles(list(trials), TYPICAL_PERCENTILES, Rules())
        for percent, one in found.items():
            if one.interval is not None:
                shown[percent] += 1
                covered[percent] += one.interval.low <= truth[percent] <= one.interval.high
    shares = {p: covered[p] / count for p, count in shown.items() if count}
    budgets = {}
    for percent, share in shares.items():
        error = sqrt(share * (1 - share) / shown[percent])
        budgets[percent] = Budget(LEAST_COVERAGE - 2 * error, MOST_COVERAGE + 2 * error)
    texts = (f"p{p} {100 * shares[p]:.1f} %" if p in shares else f"p{p} -" for p in shown)
    name, remarks = f"{name_of(row)}: covers", ", ".join(texts)
    if not shares:
        return [Row(name, 1.0, "%", remarks=remarks)]
    worst = max(shares, key=lambda p: max(budgets[p].low - shares[p], shares[p] - budgets[p].high))
    return [Row(name, shares[worst], "%", budget=budgets[worst], remarks=remarks)]


def _drawn(row: PercentileRow, random: np.random.Generator) -> np.ndarray:
    """Trials x samples."""
    levels = row.between * random.standard_normal((row.trials, 1))
    if row.kind == "slow trials":
        levels += SLOW * (random.random((row.trials, 1)) < SLOW_SHARE)
    samples = random.standard_normal((row.trials, row.samples))
    if row.kind == "slow samples":
        samples += SLOW * (random.random(samples.shape) < SLOW_SHARE)
    values = levels + samples
    return np.exp(values / 2) if row.kind == "lognormal" else values


@cache
def _truth(row: PercentileRow, percent: int) -> float:
    """The median trial's percentile: its level is the median one."""
    level = 0.0
    if row.kind == "slow trials":
        slow = SLOW / row.between
        level = row.between * _mixture(0.5, slow)
    within = float(ndtri(percent / 100))
    if row.kind == "slow samples":
        within = _mixture(percent / 100, SLOW)
    return exp((level + within) / 2) if row.kind == "lognormal" else level + within


def _mixture(share: float, slow: float) -> float:
    """Quantile of a standard normal of which SLOW_SHARE is slower."""

    def beyond(x: float) -> float:
        return float((1 - SLOW_SHARE) * ndtr(x) + SLOW_SHARE * ndtr(x - slow) - share)

    return float(brentq(beyond, -10, slow + 10))
