"""A test whose trials are not independent: their number counts for less."""

from __future__ import annotations

from sfcperf.analysis.statistics import Stretch
from sfcperf.analysis.two_sample.shift import ShiftTest


class Stretched(ShiftTest):
    """Another test with a standard error that is `by.factor` times larger.

    p-values and interval are taken for those of a t statistic, divided by the factor and judged
    with the degrees of freedom that the effective number of trials leaves.
    """

    def __init__(self, test: ShiftTest, freedom: float, by: Stretch) -> None:
        self._test, self._freedom, self._by = test, freedom, by

    @property
    def name(self) -> str:  # type: ignore[override]
        """Says that there is a correction."""
        return f"{self._test.name}, corrected for autocorrelation"

    @property
    def estimator(self) -> str:  # type: ignore[override]
        """That of the test itself."""
        return self._test.estimator

    @property
    def shift(self) -> float:
        """The same."""
        return self._test.shift

    @property
    def p(self) -> float | None:
        """Two-sided."""
        p = self._test.p
        return None if p is None else min(1.0, 2 * self._tail(p / 2))

    @property
    def p_least(self) -> float:
        """Of the least p of the test itself."""
        return min(1.0, 2 * self._tail(self._test.p_least / 2))

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Both ends further from the shift."""
        from scipy.special import stdtrit

        ends = self._test.interval(confidence)
        if ends is None:
            return None
        level = (1 + confidence) / 2
        wider = stdtrit(self._by.freedom, level) / stdtrit(self._freedom, level) * self._by.factor
        low, high = ((end - self.shift) * float(wider) for end in ends)
        return self.shift + low, self.shift + high

    def p_above(self, bound: float) -> float | None:
        """The upper tail."""
        p = self._test.p_above(bound)
        return None if p is None else self._tail(p)

    def p_below(self, bound: float) -> float | None:
        """The lower tail."""
        p = self._test.p_below(bound)
        return None if p is None else self._tail(p)

    def _tail(self, p: float) -> float:
        from scipy.special import stdtr, stdtrit

        if not 0 < p < 1:
            return p
        return float(stdtr(self._by.freedom, stdtrit(self._freedom, p) / self._by.factor))
