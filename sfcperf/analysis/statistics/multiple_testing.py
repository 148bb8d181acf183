"""Holm's correction: one probability of a false alarm for many rows.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979. Rows that no outcome could decide are left out of the family before: Tarone, "A
modified Bonferroni method for discrete data", Biometrics 46, 1990.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values in the given order; a row differs at alpha if its value is <= alpha.

    statsmodels' `multipletests` gives the same and judges it in the tests, but collects all garbage
    of the process at each call, which took four fifths of the time of a comparison.
    """
    import numpy as np

    ascending = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, float)[ascending] * np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[ascending] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in corrected]


def at_most(p: float | None, alpha: float) -> bool:
    """Whether p <= alpha up to rounding: exact tests of few trials give exactly 0.05."""
    return p is not None and p <= alpha * (1 + 1e-9)
