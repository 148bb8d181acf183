"""Shares of counted packets: what their number allows to be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfcperf.analysis.statistics.intervals import Interval

HOMOGENEITY_ALPHA = 0.05


@dataclass(frozen=True)
class EventCounts:
    """Packets (or requests) of each trial, and those of them that a share counts."""

    events: Sequence[int]
    totals: Sequence[int]

    @property
    def is_homogeneous(self) -> bool:
        """Whether all trials may have the same share, by Pearson's test of homogeneity: with more
        dispersion than that of one binomial, packets are not independent of their trial."""
        from scipy.special import chdtrc

        share = sum(self.events) / sum(self.totals)
        if share in (0, 1):
            return True
        squares = sum(
            (event - total * share) ** 2 / (total * share * (1 - share))
            for event, total in zip(self.events, self.totals, strict=True)
            if total
        )
        return float(chdtrc(len(self.totals) - 1, squares)) >= HOMOGENEITY_ALPHA


def share_interval(events: int, total: int, confidence: float) -> tuple[float, float]:
    """Exact limits of a share: Clopper & Pearson, Biometrika 26 (1934). 0 of n: below about 3.7/n
    at 95 %."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(events, total - events + 1, tail)) if events else 0.0
    high = float(betaincinv(events + 1, total - events, 1 - tail)) if events < total else 1.0
    return low, high


def pooled_interval(
    counted: EventCounts, confidence: float, of_trials: Interval | None
) -> Interval:
    """The limits of all trials' packets together, and not within those of the trials."""
    events, total = sum(counted.events), sum(counted.totals)
    low, high = share_interval(events, total, confidence)
    method = "Clopper-Pearson"
    if of_trials is None:
        return Interval(low, high, confidence, method)
    return replace(
        of_trials,
        low=max(0.0, min(low, of_trials.low)),
        high=min(1.0, max(high, of_trials.high)),
        method=f"{of_trials.method}, {method}",
    )
