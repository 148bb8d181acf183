"""Estimates what all flows sent from those that were sampled.

The estimator is that of D. G. Horvitz and D. J. Thompson, *A Generalization of Sampling Without
Replacement from a Finite Universe*, Journal of the American Statistical Association 47(260), 1952;
for independent draws ("Poisson sampling") with its variance in C.-E. Särndal, B. Swensson and J.
Wretman, *Model Assisted Survey Sampling*, Springer 1992, section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf.errors import InputError


@dataclass(frozen=True)
class Estimate:
    """An estimate of a total over all flows."""

    value: float
    low: float
    high: float
    """`low` and `high` are the ends of the confidence interval."""
    confidence: float
    """Probability with which the interval has the total, if `effective_flows` is large."""
    effective_flows: float
    """(sum x^2)^2 / sum x^4 of the sampled flows: so many flows of equal size would have this
    variance. Below some 30 the interval has the total less often than it says."""


def total_of_all_flows(
    sampled: NDArray[Any], ratio: float, added: NDArray[Any] | None = None, confidence: float = 0.95
) -> Estimate:
    """Estimate the sum of x over all flows.

    `sampled`: x of each sampled flow, such as its bytes, or ones for the number of flows. `ratio`:
    probability p with which a flow was sampled. `added`: x of flows that are monitored whatever
    sampling says; these are known and add no variance. Raises InputError.

    Estimate: sum(x) / p; variance: (1 - p) / p^2 sum(x^2). The interval is that of the normal
    distribution, and ends at what was seen.

    Assumptions:

    - Each flow was sampled with this p, independently of what it sent: no other ratio was set while
      x was counted (in the mode `hash`, counts of the epochs since then will do), and the table was
      never full.
    - No flow dominates. With heavy tails the largest flows are mostly not in a sample, so that the
      estimate is too low more often than too high, and the interval has the total less often than
      it says. `effective_flows` shows it only if such a flow is in the sample. Add large flows that
      are known (addMonitoringEntry): they are then counted exactly.
    """
    if not 0 < ratio <= 1:
        raise InputError(
            f"{ratio!r} is out of range", where="ratio", allowed="more than 0, up to 1"
        )
    if not 0 < confidence < 1:
        raise InputError(f"{confidence!r} is out of range", where="confidence", allowed="0 to 1")
    x = np.asarray(sampled, float)
    known = 0.0 if added is None else float(np.asarray(added, float).sum())
    seen, squares = float(x.sum()), float((x**2).sum())
    value = known + seen / ratio
    half = NormalDist().inv_cdf((1 + confidence) / 2) * (squares * (1 - ratio)) ** 0.5 / ratio
    fourth = float((x**4).sum())
    effective = squares**2 / fourth if fourth else 0.0
    return Estimate(value, max(value - half, known + seen), value + half, confidence, effective)
