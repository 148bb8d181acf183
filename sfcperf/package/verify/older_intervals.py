"""Intervals by the methods of earlier releases: summaries that name one are compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

_MEAN = "t (mean)"
_MEAN_LOOKS = "t (mean, repeated looks)"
_MEDIAN = "order statistics (median)"

OF_INTERVALS = frozenset(
    ("ci_low", "ci_high", "method", "median_ci_low", "median_ci_high", "median_method")
) | {"centre", "relative_half_width", "warnings"}
"""What the methods of intervals decide, in a row of summary.json."""
OF_DRAWINGS = OF_INTERVALS | {"y", "y_low", "y_high", "state"}
"""The same, with what a figure draws by them, in a row of its table."""
NOT_COMPARED = frozenset(("centre", "warnings"))
"""What an earlier release wrote for reasons of its own."""


def is_older(method: str) -> bool:
    """Whether an earlier release's method made a row's interval of the mean."""
    return method in (_MEAN, _MEAN_LOOKS)


def older_intervals(
    values: Sequence[float], now: Mapping[str, Any], first_look: int | None
) -> dict[str, Any]:
    """What an earlier release wrote in a row: name -> value.

    `values`: of the trials; `now`: the row as it is made today; `first_look`: as in `Rules`. Mean:
    Student's t (Jain 1991, section 13.2). Median: the narrowest pair of order statistics that
    covers at least as often as asked (David & Nagaraja, Order Statistics, 3rd ed., section 7.1).
    """
    from sfcperf.analysis.statistics.intervals import confidence_per_look, t_quantile

    n, mean, stdev, confidence = (now[name] for name in ("n", "mean", "stdev", "confidence"))
    found: dict[str, Any] = dict.fromkeys(("ci_low", "ci_high", "relative_half_width"))
    found["method"] = ""
    if n > 1:
        looked = first_look is not None
        per_look = confidence if first_look is None else confidence_per_look(confidence, first_look)
        half = t_quantile(n - 1, per_look) * stdev / sqrt(n)
        ratio = 0.0 if half == 0 else half / abs(mean) if mean else None
        found = {
            "ci_low": mean - half,
            "ci_high": mean + half,
            "method": _MEAN_LOOKS if looked else _MEAN,
            "relative_half_width": ratio if ratio is not None and isfinite(ratio) else None,
        }
    return found | _of_median(sorted(values), confidence)


def _of_median(ordered: Sequence[float], confidence: float) -> dict[str, Any]:
    from numpy import arange, searchsorted
    from scipy.special import bdtr

    below = bdtr(arange(len(ordered) // 2), len(ordered), 0.5)
    rank = int(searchsorted(below, (1 - confidence) / 2, side="right"))
    low, high = (ordered[rank - 1], ordered[-rank]) if rank else (None, None)
    return {"median_ci_low": low, "median_ci_high": high, "median_method": _MEDIAN if rank else ""}
