"""Steady state: where the warm-up of a time series ends, and whether it ends at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sfcperf.analysis.statistics.permutations import permutation_p
from sfcperf.analysis.statistics.scaling import scaled

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.01
"""Probability of not calling a series steady whose order is pure chance."""
LEAST = 10
"""Fewest observations of a series that is judged."""
_USUAL_BATCH = 5
"""Observations of a batch, as in MSER-5."""
_LEAST_BATCHES, _MOST_BATCHES = 10, 200
"""Batches of a series; batches are smaller or larger to keep their number in this range."""
_TAIL = 5
"""Batches at the end that are never cut off: fewer do not show their own error (White 1997)."""
_LONG_ENOUGH = 0.9
"""Share of the longest series; shorter ones lost too much to be averaged with the others."""


@dataclass(frozen=True)
class Steadiness:
    """Whether, and from where on, a series is steady."""

    state: Literal["", "steady", "warm-up", "never"]
    """Empty for too few observations. `warm-up`: steady from `after` on. `never`: not steady from
    any point in the first half on; the series is too short."""
    after: int | None
    """Number of observations of the warm-up; 0 for a steady series, None for other states."""
    bias_ratio: float | None
    """Mean of all observations over that of the steady ones, minus 1; None without a warm-up."""
    method: str
    """Name of the method, e.g. `MSER-5`; empty if the state is."""
    p: float | None
    """p of a level that changes with the position; None if the state is empty or all observations
    are equal."""


NOT_JUDGED = Steadiness("", None, None, "", None)


def steadiness(series: Sequence[Sequence[float]]) -> Steadiness:
    """Judge series that repeat each other (the trials of one scenario), each in order of time.

    Two questions, each with its method. *Is there a warm-up at all?* The largest deviation of the
    partial sums from a straight line (Schruben, Detecting initialization bias in simulation
    output, Operations Research 30, 1982), tested by shuffling each series. *Where does it end?*
    MSER-5 (White, An effective truncation heuristic for bias reduction in simulation output,
    Simulation 69, 1997) on the mean of the series at each position (Welch 1983): it cuts off as
    many batches of five at the start, half of all at most, as make the standard error of the rest
    smallest. MSER alone cuts off something in every other series of white noise, hence the first
    question. Batches are smaller for fewer than 50 observations, and larger for more than 1000.
    """
    import numpy as np

    longest = max(map(len, series), default=0)
    long_enough = [trial for trial in series if len(trial) >= _LONG_ENOUGH * longest]
    length = min(map(len, long_enough), default=0)
    if length < LEAST:
        return NOT_JUDGED
    size = _batch_size(length)
    count = length // size
    array = np.asarray([trial[: count * size] for trial in long_enough], float)
    method = f"MSER-{size}"
    batches = scaled(array.reshape(len(long_enough), count, size).mean(axis=2))
    p = None if batches is None else permutation_p(batches, _largest_shift)
    if batches is None or p is None or p >= ALPHA:
        return Steadiness("steady", 0, None, method, p)
    half = count // 2
    cut = int(_errors(batches.mean(axis=0))[: half + 1].argmin())
    # A smallest error at the bound means that the true minimum is beyond it: not steady in time.
    # Nor is a series steady whose rest, tested like the whole, still shifts.
    if not 0 < cut < half or permutation_p(batches[:, cut:], _largest_shift) < ALPHA:
        return Steadiness("never", None, None, method, p)
    after = cut * size
    rest = float(array[:, after:].mean())
    bias = float(array.mean()) / rest - 1 if rest else None
    return Steadiness("warm-up", after, bias, method, p)


def _largest_shift(rows: NDArray[float64]) -> NDArray[float64]:
    """Return, for each of m rows of k batches, the largest difference between the mean of the first
    batches and that of the others, over its standard error. A factor is left out that shuffling
    does not change."""
    import numpy as np

    k = rows.shape[1]
    first = np.arange(1, k)
    sums = (rows - rows.mean(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]
    largest: NDArray[float64] = np.max(np.abs(sums) / np.sqrt(first * (k - first)), axis=1)
    return largest


def _batch_size(length: int) -> int:
    """Return how many observations of a series form a batch: five, or fewer or more where that is
    needed for at least 10 and at most about 200 batches."""
    return max(1, min(_USUAL_BATCH, length // _LEAST_BATCHES), length // _MOST_BATCHES)


def _errors(batches: NDArray[float64]) -> NDArray[float64]:
    """Return the MSER statistic of k batches with 0, 1, ... k - 5 of them cut off: the sum of
    squared deviations of the rest over the square of its length (White 1997)."""
    import numpy as np

    sizes = np.arange(len(batches), 0, -1)
    sums = batches[::-1].cumsum()[::-1]
    squares = (batches * batches)[::-1].cumsum()[::-1]
    errors: NDArray[float64] = np.maximum(squares - sums * sums / sizes, 0) / sizes**2
    return errors[: len(batches) - _TAIL + 1]
