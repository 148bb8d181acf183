"""Percentiles, only where the data reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def percentiles(values: Sequence[float], asked: Sequence[int]) -> Mapping[int, float | None]:
    """Percentile (1 ... 99) -> its estimate in the unit of the values; None for one that lies
    beyond what n values can tell.

    The k-th smallest of n values stands for the fraction k / (n + 1), with straight lines between
    (definition 6 of Hyndman & Fan 1996). Below 1 / (n + 1) there is no value to speak of: the 5th
    percentile of ten trials would be the smallest trial under a name that promises more. Hence
    p5 and p95 need 19 values, p25 and p75 three, p99 needs 99.
    """
    from numpy import asarray, quantile

    n = len(values)
    known = [p for p in asked if (n + 1) * min(p, 100 - p) >= 100]
    if not known:
        return dict.fromkeys(asked)
    found = quantile(asarray(values, float), [p / 100 for p in known], method="weibull")
    return dict.fromkeys(asked) | dict(zip(known, map(float, found), strict=True))
