"""Warnings of a row: what a reader must know of its numbers, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfcperf.analysis.dependence import Dependence
from sfcperf.analysis.steady import Steadiness

LEAST_BIAS = 0.01
"""Share of the mean that a warm-up must add to be worth a word."""
_MOST_NAMED = 5


def warnings(
    trials: int, outliers: Sequence[str], order: Dependence, within: Steadiness
) -> Iterator[str]:
    """Of a row with so many trials, of which some are marked."""
    if order.trends:
        yield f"The trials drift with time{_drift(order)} (Mann-Kendall p = {order.trend_p:.2g})."
    elif order.clings:
        yield (
            f"Successive trials resemble each other (lag-1 autocorrelation "
            f"{order.autocorrelation:.2f}, p = {order.autocorrelation_p:.2g}): the interval is "
            "narrower than it should be."
        )
    if within.state == "never":
        yield (
            f"Within the trials the values never become steady ({within.method}): longer trials "
            "would give another number."
        )
    elif within.bias_ratio is not None and abs(within.bias_ratio) >= LEAST_BIAS:
        does = "raises" if within.bias_ratio > 0 else "lowers"
        yield (
            f"The first {within.after} samples of each trial are warm-up ({within.method}), which "
            f"{does} the mean by {abs(within.bias_ratio):.1%}; they count all the same."
        )
    if outliers:
        named = ", ".join(outliers[:_MOST_NAMED]) + (" ..." if len(outliers) > _MOST_NAMED else "")
        yield f"{len(outliers)} of {trials} trials marked as outlying, but counted: {named}."


def _drift(order: Dependence) -> str:
    if not order.drift_ratio:
        return ""
    where = "above" if order.drift_ratio > 0 else "below"
    return f": the last third of the rounds is {abs(order.drift_ratio):.1%} {where} the first"
