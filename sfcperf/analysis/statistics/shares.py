"""Intervals of shares of counted packets, from the number of these packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfcperf.analysis.statistics.intervals import Interval

HOMOGENEITY_ALPHA = 0.05
"""Level of the test of homogeneity."""


@dataclass(frozen=True)
class EventCounts:
    """The counts behind a share in each trial, for instance of lost packets."""

    events: Sequence[int]
    """Packets or requests of each trial that the share counts."""
    totals: Sequence[int]
    """All packets or requests of each trial."""

    @property
    def is_homogeneous(self) -> bool:
        """Whether all trials may have the same share, by Pearson's chi-squared test of homogeneity.
        If shares differ by more than those of one binomial distribution, packets of one trial are
        not independent, and the trial is the unit of replication."""
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
    """Return the exact confidence limits of the share events / total (Clopper & Pearson, Biometrika
    26, 1934). For 0 of n the upper limit is about 3.7 / n at 95 %."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(events, total - events + 1, tail)) if events else 0.0
    high = float(betaincinv(events + 1, total - events, 1 - tail)) if events < total else 1.0
    return low, high


def pooled_interval(
    counted: EventCounts, confidence: float, of_trials: Interval | None
) -> Interval:
    """Return the Clopper-Pearson interval of all trials' packets together. With an interval of the
    trials' shares (`of_trials`), return the narrowest one that contains both, within 0 to 1."""
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
