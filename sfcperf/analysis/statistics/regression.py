"""A straight line through points, by ordinary least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics.intervals import Interval, t_quantile

SLOPE_METHOD = "t (slope)"


@dataclass(frozen=True)
class Line:
    """`y = intercept + slope * x`."""

    slope: float
    intercept: float
    r_squared: float | None
    """Share of the variance of y that the line explains; None if y does not vary or if there are
    only two points, which always lie on a line."""
    slope_interval: Interval | None
    """t interval with n - 2 degrees of freedom; None for n < 3."""
    n: int
    """Points."""


def fit_line(x: Sequence[float], y: Sequence[float], confidence: float) -> Line | None:
    """Least-squares line; None when x does not vary (also for fewer than two points).

    Source: Draper & Smith, Applied Regression Analysis (3rd ed.), chapter 1. In closed form,
    because importing scipy.stats takes longer than drawing a report. Assumes finite numbers and
    equally long x and y.
    """
    import numpy as np

    if len(set(x)) < 2:
        return None
    n = len(x)
    if len(set(y)) < 2:
        exact = Interval(0.0, 0.0, confidence, SLOPE_METHOD) if n > 2 else None
        return Line(0.0, float(y[0]), None, exact, n)
    dx, dy = np.asarray(x) - np.mean(x), np.asarray(y) - np.mean(y)
    sxx, sxy, syy = float(dx @ dx), float(dx @ dy), float(dy @ dy)
    slope = sxy / sxx
    intercept = float(np.mean(y)) - slope * float(np.mean(x))
    if n == 2:
        return Line(slope, intercept, None, None, n)
    residuals = dy - slope * dx
    unexplained = float(residuals @ residuals)
    half_width = t_quantile(n - 2, confidence) * (unexplained / (n - 2) / sxx) ** 0.5
    interval = Interval(slope - half_width, slope + half_width, confidence, SLOPE_METHOD)
    return Line(slope, intercept, 1 - unexplained / syy, interval, n)
