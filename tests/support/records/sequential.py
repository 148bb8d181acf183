"""Sequential stopping, simulated: whole grids of designs at once, as arrays.

The arithmetic is numpy's and scipy's; of SFCPerf only the confidence per look is used, which is
what is on trial. `tests/unit/analysis/test_calibration.py` checks that it decides as SFCPerf does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from sfcperf.analysis.statistics import confidence_per_look, fewest_for_median

Array = NDArray[Any]
MEAN = 1.0
DEPENDENT_BELOW = 0.2
"""p of the lag-1 correlation below which intervals are wider."""


@dataclass(frozen=True)
class Cell:
    """What happens to one design with trials of one dispersion."""

    dispersion: float
    """Standard deviation over mean."""
    rounds: int
    """Minimum."""
    target: float
    """Relative half-width."""
    max_rounds: int
    coverage: float
    """Share of runs whose final interval holds the true median."""
    needed: float
    """Rounds, on average."""


def trials(shape: str, dispersion: float, size: tuple[int, ...], seed: int) -> Array:
    """Trials of mean 1: `normal` or `lognormal`."""
    random = numpy.random.default_rng(seed)
    if shape == "normal":
        return random.normal(MEAN, dispersion, size)
    sigma = numpy.sqrt(numpy.log1p(dispersion**2))
    return random.lognormal(-(sigma**2) / 2, sigma, size)


def median_of(shape: str, dispersion: float) -> float:
    """The true median of `trials`."""
    return MEAN if shape == "normal" else float(MEAN / numpy.sqrt(1 + dispersion**2))


def looks(
    values: Array, rounds: int, confidence: float, adjusted: bool
) -> tuple[Array, Array, Array]:
    """Median and ends of its interval after `rounds`, `rounds` + 1, ... trials of each run; NaN
    where there is none."""
    first = max(rounds, fewest_for_median(confidence))
    per_look = confidence_per_look(confidence, first) if adjusted else confidence
    found = [_look(values[:, :n], per_look) for n in range(rounds, values.shape[1] + 1)]
    medians, lows, highs = (numpy.stack(column, axis=1) for column in zip(*found, strict=True))
    return medians, lows, highs


def _look(values: Array, confidence: float) -> tuple[Array, Array, Array]:
    """Hettmansperger & Sheather's interval; dependent trials stretch it, on the scale of the
    logarithm where all are positive."""
    ordered, n = numpy.sort(values, axis=1), values.shape[1]
    median = numpy.median(ordered, axis=1)
    ranks = numpy.arange(1, n // 2 + 1)
    covers = 1 - 2 * binom.cdf(ranks - 1, n, 0.5)
    if not len(ranks) or covers[0] < confidence:
        return median, numpy.full_like(median, numpy.nan), numpy.full_like(median, numpy.nan)
    rank = int(ranks[covers >= confidence][-1])
    following = covers[rank] if rank < len(covers) else 0.0
    share = (covers[rank - 1] - confidence) / (covers[rank - 1] - following)
    inward = (n - rank) * share / (rank + (n - 2 * rank) * share)
    low = (1 - inward) * ordered[:, rank - 1] + inward * ordered[:, rank]
    high = (1 - inward) * ordered[:, -rank] + inward * ordered[:, -rank - 1]
    factor = _factor(values)
    positive = ordered[:, 0] > 0
    ends = [
        numpy.where(
            positive,
            median * numpy.where(positive, end / median, 1.0) ** factor,
            median + (end - median) * factor,
        )
        for end in (low, high)
    ]
    return median, ends[0], ends[1]


def _factor(values: Array) -> Array:
    n = values.shape[1]
    if n < 10:
        return numpy.ones(len(values))
    centred = values - values.mean(axis=1, keepdims=True)
    r = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / (centred**2).sum(axis=1)
    p = ndtr(-(r + 1 / n) * n / numpy.sqrt(n - 2))
    unbiased = numpy.clip((r + 1 / n) / (1 - 4 / n), 0, 0.9)
    taken = numpy.minimum(unbiased + numpy.sqrt((1 - unbiased**2) / n), 0.9)
    return numpy.where(p <= DEPENDENT_BELOW, numpy.sqrt((1 + taken) / (1 - taken)), 1.0)


def grid(
    shape: str,
    dispersions: Sequence[float],
    minima: Sequence[int],
    targets: Sequence[float],
    maxima: Sequence[int],
    *,
    runs: int,
    confidence: float = 0.95,
    adjusted: bool = True,
) -> Iterator[Cell]:
    """Every combination of these."""
    for seed, dispersion in enumerate(dispersions):
        values = trials(shape, dispersion, (runs, max(maxima)), seed)
        for rounds in minima:
            medians, lows, highs = looks(values, rounds, confidence, adjusted)
            truth = median_of(shape, dispersion)
            holds = (lows <= truth) & (truth <= highs)
            ratio = (highs - lows) / 2 / abs(medians)
            for target in targets:
                for most in maxima:
                    last = most - rounds
                    narrow = ratio[:, : last + 1] <= target
                    stop = numpy.where(narrow.any(axis=1), narrow.argmax(axis=1), last)
                    covered = holds[numpy.arange(runs), stop].mean()
                    needed = stop.mean() + rounds
                    yield Cell(dispersion, rounds, target, most, float(covered), float(needed))
