"""Variance, fast, and exactly 0 for equal values."""

from __future__ import annotations

from collections.abc import Sequence


def variance(values: Sequence[float]) -> float:
    """Sample variance (divisor n - 1), in the unit squared; assumes two values at least.

    Rounding of the mean must not make dispersion out of none: tests rely on the 0.
    """
    import numpy as np

    return float(np.var(values, ddof=1)) if min(values) != max(values) else 0.0


def stdev(values: Sequence[float]) -> float:
    """Its root, in the unit."""
    return float(variance(values) ** 0.5)
