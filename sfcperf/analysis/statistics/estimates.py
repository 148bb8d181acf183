"""Mean and median of trials, each with an interval, or with the reason why there is none.

An interval is only given where simulation shows that it covers as often as it says
(benchmarks/analysis/truth.py, docs/explanation/statistics.md). Whether mean or median counts is
declared before the trials are measured (`Rules`): a choice made by their values would be biased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median, stdev
from typing import Literal

from sfcperf.analysis.statistics.dependence import ALPHA as DRIFT_ALPHA
from sfcperf.analysis.statistics.dependence import LEAST as LEAST_FOR_DRIFT
from sfcperf.analysis.statistics.dependence import mann_kendall_p
from sfcperf.analysis.statistics.intervals import (
    LOOKS,
    Interval,
    confidence_per_look,
    fewest_for_median,
    mean_interval,
    median_interval,
)
from sfcperf.analysis.statistics.outliers import find_outliers
from sfcperf.analysis.statistics.resolution import least_to_see, tick_of
from sfcperf.analysis.statistics.scaling import scaled
from sfcperf.analysis.statistics.serial_dependence import stretch
from sfcperf.analysis.statistics.shares import EventCounts, pooled_interval
from sfcperf.counts import count_text

Centre = Literal["mean", "median"]

DEPENDENCE_ALPHA = 0.2
"""One-sided level below which successive trials count as dependent. It is high on purpose: an
interval that is wider than necessary costs little, one that dependence makes too narrow is
wrong."""
USUAL_RAREST_MODE = 0.1
"""Default share of trials of a mode that the mean must not miss."""


@dataclass(frozen=True)
class Rules:
    """What a run declares before its trials about all its intervals."""

    confidence: float = 0.95
    centre: Centre = "median"
    """Which of mean and median describes the trials."""
    rarest_mode: float = USUAL_RAREST_MODE
    """The mean of trials has an interval only where they would show, with 95 %, a mode that occurs
    in this share of all trials or more: a slow mode that was not hit is missing from the mean."""
    first_look: int | None = None
    """Rounds after which sequential stopping first looked; None if there were no repeated looks."""

    @property
    def fewest(self) -> int:
        """Fewest trials with which the declared centre has an interval."""
        if self.centre == "mean":
            return least_to_see(self.rarest_mode)
        return fewest_for_median(self.confidence)

    @property
    def per_look(self) -> float:
        """Confidence of the interval at each look of sequential stopping. Looks at too few trials
        for an interval do not count as looks."""
        if self.first_look is None:
            return self.confidence
        return confidence_per_look(self.confidence, max(self.first_look, self.fewest))


@dataclass(frozen=True)
class Estimate:
    """Mean or median of trials with its interval, in the unit of the trials."""

    value: float | None
    """None without trials."""
    interval: Interval | None
    """None if it is withheld."""
    withheld: str
    """Why there is no interval, as a clause; empty if there is one."""


def estimate_of(
    values: Sequence[float],
    rules: Rules,
    centre: Centre | None = None,
    *,
    tick: float | None = None,
    counted: EventCounts | None = None,
) -> Estimate:
    """Estimate the centre of finite values, one per trial, in order of time.

    `centre`: None for the one that the rules declare. `tick`: resolution of a value; None if the
    metric declares none. `counted`: packets or requests behind the values; None unless these are
    shares.
    """
    if not values:
        return Estimate(None, None, "there is no valid trial")
    is_mean = (centre or rules.centre) == "mean"
    value = float((mean if is_mean else median)(values))
    reason = _why_withheld(values, tick, counted)
    reason = reason or (_mean_withheld if is_mean else _median_withheld)(values, rules, counted)
    if reason:
        return Estimate(value, None, reason)
    method: Callable[..., Interval | None] = mean_interval if is_mean else median_interval
    found = method(values, rules.per_look)
    if found is not None:
        found = _widened(found, value, values)
    if counted is not None:
        found = pooled_interval(counted, rules.per_look, found)
    elif found is not None:
        found = _with_resolution(found, values, tick_of(values, tick), is_mean=is_mean)
    if found is None:
        return Estimate(value, None, "it would span many orders of magnitude")
    looks = LOOKS if rules.first_look is not None else ""
    own = replace(found, confidence=rules.confidence, method=found.method + looks)
    return Estimate(value, own, "")


def _why_withheld(values: Sequence[float], tick: float | None, counted: EventCounts | None) -> str:
    """Say what forbids an interval of mean and median alike; empty if nothing does."""
    if len(values) < 2:
        return "one trial shows no dispersion"
    deviations = scaled(values)
    if deviations is None:
        # The tick or the counts then give the interval its width.
        if tick is None and counted is None:
            return "all trials gave the same value, and the resolution of the metric is not known"
        return ""
    p = mann_kendall_p(deviations) if len(values) >= LEAST_FOR_DRIFT else 1.0
    if p < DRIFT_ALPHA:
        return f"the trials drift with time (Mann-Kendall p = {p:.2g})"
    return ""


def _median_withheld(values: Sequence[float], rules: Rules, counted: EventCounts | None) -> str:
    """Say what forbids an interval of the median; empty if nothing does. A share whose counts are
    homogeneous (`EventCounts`) needs no minimum of trials: with too few for `median_interval`,
    `pooled_interval` makes an interval from all their packets or requests alone."""
    least = fewest_for_median(rules.per_look)
    if len(values) >= least or (counted is not None and counted.is_homogeneous):
        return ""
    return (
        f"an interval of the median at {100 * rules.per_look:.4g} % needs {least} trials; there "
        f"are {len(values)}"
    )


def _mean_withheld(values: Sequence[float], rules: Rules, _counted: EventCounts | None) -> str:
    """Say what forbids an interval of the mean: a mode that was missed, or may have been hit once;
    empty if nothing does. `_counted` is not used: `estimate_of` calls this like
    `_median_withheld`."""
    least = least_to_see(rules.rarest_mode)
    if len(values) < least:
        return (
            f"the mean depends on modes that {count_text(len(values), 'trial')} may not show; "
            f"{least} show any that occurs in {100 * rules.rarest_mode:g} % of them "
            "(design.rarest_mode)"
        )
    outliers = len(find_outliers(values))
    # With fewer trials than show a usual mode, an outlier may be the only hit of one.
    if outliers and len(values) < least_to_see(USUAL_RAREST_MODE):
        are = "is an outlier" if outliers == 1 else "are outliers"
        return f"{outliers} of {len(values)} trials {are}: there may be a second mode"
    return ""


def _widened(found: Interval, centre: float, values: Sequence[float]) -> Interval:
    """Widen an interval by the factor that the dependence of successive trials demands, on the
    scale of the logarithm where all values are positive."""
    factor = stretch([values], DEPENDENCE_ALPHA).factor
    if factor == 1:
        return found
    method = f"{found.method}, dependent trials"
    if min(values) > 0:
        low, high = (centre * (end / centre) ** factor for end in (found.low, found.high))
    else:
        low, high = (centre + factor * (end - centre) for end in (found.low, found.high))
    return replace(found, low=low, high=high, method=method)


def _with_resolution(
    found: Interval, values: Sequence[float], tick: float | None, *, is_mean: bool
) -> Interval:
    """Widen an interval by half a tick at either end, which is how far rounding may move a centre;
    not below 0 for values that are never negative. A mean stays as it is if the values have a
    dispersion of a tick or more, which averages rounding out of a mean, but not of a median."""
    if tick is None or (is_mean and stdev(values) >= tick):
        return found
    low = found.low - tick / 2
    return replace(
        found, low=max(low, 0.0) if min(values) >= 0 else low, high=found.high + tick / 2
    )
