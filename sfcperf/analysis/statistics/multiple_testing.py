"""Holm's correction: one probability of a false alarm for many rows.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979. Rows that no outcome could decide are left out of the family before: Tarone, "A
modified Bonferroni method for discrete data", Biometrics 46, 1990.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the corrected p-values in the given order; a row differs at alpha if its value is at
    most alpha.

    statsmodels' `multipletests` gives the same values, and the tests compare with it. It is not
    used here because it runs the garbage collector of the process at each call, which took four
    fifths of the time of a comparison.
    """
    import numpy as np

    ascending = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, float)[ascending] * np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[ascending] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in corrected]


def at_most(p: float | None, alpha: float) -> bool:
    """Whether p <= alpha up to rounding, which matters because exact tests of few trials can give
    exactly 0.05. A p of None, where there was no test, is not."""
    return p is not None and p <= alpha * (1 + 1e-9)
