"""Steady state: where the warm-up of a time series ends, and whether it ends at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sfcperf.analysis.permutations import permutation_p
from sfcperf.analysis.scaling import scaled

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.01
"""Probability that series without any order are not called steady."""
LEAST = 10
"""Observations; fewer do not tell."""
_USUAL_BATCH = 5
_LEAST_BATCHES, _MOST_BATCHES = 10, 200
_TAIL = 5
"""Batches that are never cut off: the error of so few is itself unknown (White 1997)."""
_LONG_ENOUGH = 0.9
"""Of the longest series; a shorter one lost too much to be laid over the others."""


@dataclass(frozen=True)
class Steadiness:
    """What was found of a series."""

    state: Literal["", "steady", "warm-up", "never"]
    """Empty for too few observations. `warm-up`: steady from `after` on. `never`: there is no such
    place in the first half, or what is left moves on: too short to become steady."""
    after: int | None
    """Observations of the warm-up; 0 for a steady series, None otherwise."""
    bias_ratio: float | None
    """Mean of all observations over that of the steady ones, minus 1; None without a warm-up."""
    method: str
    """E.g. `MSER-5`; empty when the state is."""
    p: float | None
    """Of the level depending on the place; None when the state is empty or all are equal."""


NOT_JUDGED = Steadiness("", None, None, "", None)


def steadiness(series: Sequence[Sequence[float]]) -> Steadiness:
    """Of series that repeat each other (the trials of one scenario), each in order of time.

    Two questions, each with its method. *Is there a warm-up at all?* The largest departure of the
    partial sums from a straight line (Schruben, Detecting initialization bias in simulation
    output, Operations Research 30, 1982), judged by shuffling each series. *Where does it end?*
    MSER-5 (White, An effective truncation heuristic for bias reduction in simulation output,
    Simulation 69, 1997) on the mean of the series at each place (Welch 1983): of the means of
    batches of five, those are cut off at the start, half of them at most, that make the standard
    error of the rest smallest. MSER alone cuts something off every other series of white noise,
    hence the first question. Batches are smaller for fewer than 50 observations, and larger for
    more than 1000.
    """
    import numpy as np

    longest = max(map(len, series), default=0)
    alike = [one for one in series if len(one) >= _LONG_ENOUGH * longest]
    length = min(map(len, alike), default=0)
    if length < LEAST:
        return NOT_JUDGED
    size = _batch_size(length)
    count = length // size
    array = np.asarray([one[: count * size] for one in alike], float)
    method = f"MSER-{size}"
    batches = scaled(array.reshape(len(alike), count, size).mean(axis=2))
    p = None if batches is None else _p_of_moving(batches)
    if batches is None or p is None or p >= ALPHA:
        return Steadiness("steady", 0, None, method, p)
    half = count // 2
    cut = int(_errors(batches.mean(axis=0))[: half + 1].argmin())
    # At the bound, the smallest error lies beyond it.
    if not 0 < cut < half or _p_of_moving(batches[:, cut:]) < ALPHA:
        return Steadiness("never", None, None, method, p)
    after = cut * size
    rest = float(array[:, after:].mean())
    bias = float(array.mean()) / rest - 1 if rest else None
    return Steadiness("warm-up", after, bias, method, p)


def _p_of_moving(batches: NDArray[float64]) -> float:
    """Of the level of batches (repetition, place) depending on the place."""
    return permutation_p(batches, _departure)


def _departure(rows: NDArray[float64]) -> NDArray[float64]:
    """Per row (m, k): largest difference of the mean of the first batches and that of the others,
    over its standard error (but for a factor that shuffling does not change)."""
    import numpy as np

    k = rows.shape[1]
    first = np.arange(1, k)
    sums = (rows - rows.mean(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]
    largest: NDArray[float64] = np.max(np.abs(sums) / np.sqrt(first * (k - first)), axis=1)
    return largest


def _batch_size(length: int) -> int:
    return max(1, min(_USUAL_BATCH, length // _LEAST_BATCHES), length // _MOST_BATCHES)


def _errors(batches: NDArray[float64]) -> NDArray[float64]:
    """MSER statistic of k batches, with 0 ... k - 5 of them cut off."""
    import numpy as np

    left = np.arange(len(batches), 0, -1)
    sums = batches[::-1].cumsum()[::-1]
    squares = (batches * batches)[::-1].cumsum()[::-1]
    errors: NDArray[float64] = np.maximum(squares - sums * sums / left, 0) / left**2
    return errors[: len(batches) - _TAIL + 1]
