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
from scipy.special import stdtrit

from sfcperf.analysis.statistics import confidence_per_look

Array = NDArray[Any]
MEAN = 1.0


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
    """Share of runs whose final interval holds the true mean."""
    needed: float
    """Rounds, on average."""


def trials(shape: str, dispersion: float, size: tuple[int, ...], seed: int) -> Array:
    """Trials of mean 1: `normal` or `lognormal`."""
    random = numpy.random.default_rng(seed)
    if shape == "normal":
        return random.normal(MEAN, dispersion, size)
    sigma = numpy.sqrt(numpy.log1p(dispersion**2))
    return random.lognormal(-(sigma**2) / 2, sigma, size)


def looks(values: Array, rounds: int, confidence: float, adjusted: bool) -> tuple[Array, Array]:
    """Mean and half-width of the interval after `rounds`, `rounds` + 1, ... trials of each run."""
    n = numpy.arange(1, values.shape[1] + 1)
    deviations = values - MEAN
    sums, squares = deviations.cumsum(axis=1), (deviations**2).cumsum(axis=1)
    variance = (squares - sums**2 / n)[:, rounds - 1 :] / (n[rounds - 1 :] - 1)
    n = n[rounds - 1 :]
    per_look = confidence_per_look(confidence, rounds) if adjusted else confidence
    half_width = stdtrit(n - 1, (1 + per_look) / 2) * numpy.sqrt(numpy.maximum(variance, 0) / n)
    return MEAN + sums[:, rounds - 1 :] / n, half_width


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
            means, half_widths = looks(values, rounds, confidence, adjusted)
            holds = abs(means - MEAN) <= half_widths
            ratio = half_widths / abs(means)
            for target in targets:
                for most in maxima:
                    last = most - rounds
                    narrow = ratio[:, : last + 1] <= target
                    stop = numpy.where(narrow.any(axis=1), narrow.argmax(axis=1), last)
                    covered = holds[numpy.arange(runs), stop].mean()
                    needed = stop.mean() + rounds
                    yield Cell(dispersion, rounds, target, most, float(covered), float(needed))
