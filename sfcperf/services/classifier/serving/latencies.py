"""Latencies: percentiles of many latencies, exact to a millisecond."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate


class Latencies:
    """Counts latencies by whole milliseconds. Some are negative if they are taken from clocks of
    two machines."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, latency_ms: int) -> None:
        """Count one more latency."""
        self._counts[latency_ms] += 1

    def percentile(self, percent: float) -> int | None:
        """The least latency that at least `percent` of all do not exceed; None if there are
        none."""
        total = self._counts.total()
        values = sorted(self._counts)
        sums = accumulate(self._counts[value] for value in values)
        needed = total * percent / 100
        return next((v for v, so_far in zip(values, sums, strict=True) if so_far >= needed), None)

    def summary(self) -> dict[str, int | None]:
        """`count`, `median_ms`, `p99_ms`."""
        return {
            "count": self._counts.total(),
            "median_ms": self.percentile(50),
            "p99_ms": self.percentile(99),
        }
