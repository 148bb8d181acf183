"""Holm's correction: many rows, one probability of a false alarm.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979; that rows which no outcome could decide do not count: Tarone, "A modified
Bonferroni method for discrete data", Biometrics 46, 1990.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p, in the order given: at most alpha exactly for the rows that differ at alpha."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


def at_most(p: float | None, alpha: float) -> bool:
    """p <= alpha, up to rounding: exact tests of few trials hit 0.05 itself."""
    return p is not None and p <= alpha * (1 + 1e-9)
