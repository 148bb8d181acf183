"""A correction of tests for trials that depend on their predecessors, and so count for less."""

from __future__ import annotations

from sfcperf.analysis.statistics import VarianceInflation
from sfcperf.analysis.two_sample.shift import ShiftTest

SUFFIX = ", corrected for autocorrelation"
"""Suffix of the name of a corrected test."""
_CONFIDENCE = 0.95
"""Confidence of the interval from which the standard error is derived."""


class InflatedTest(ShiftTest):
    """Wraps a test, and makes its standard error `by.factor` times larger.

    p-values and interval are those of a t statistic: the shift over its standard error, which
    follows from the interval of the wrapped test and is enlarged by the factor. Its degrees of
    freedom are those that the effective number of trials leaves. The p of ranks is not corrected
    itself: it is bounded by the number of trials, and enlarging it could hide a shift of any size.
    `freedom`: degrees of freedom that independent trials would have.
    """

    def __init__(self, test: ShiftTest, freedom: float, by: VarianceInflation) -> None:
        self._test, self._freedom, self._by = test, freedom, by

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the wrapped test; it says that there is a correction."""
        return f"{self._test.name}{SUFFIX}"

    @property
    def estimator(self) -> str:  # type: ignore[override]
        """Estimator of the wrapped test."""
        return self._test.estimator

    @property
    def shift(self) -> float:
        """Shift that the wrapped test estimates; the correction does not move it."""
        return self._test.shift

    @property
    def p(self) -> float | None:
        """Two-sided p, twice the smaller tail; None if the wrapped test could not test."""
        above, below = self.p_above(0), self.p_below(0)
        return None if above is None or below is None else min(1.0, 2 * above, 2 * below)

    @property
    def p_least(self) -> float:
        """Smallest possible p: 0 if the shift has a standard error, as t has no bound; otherwise
        that of the wrapped test."""
        return self._test.p_least if self._test.interval(_CONFIDENCE) is None else 0.0

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the wrapped test with both ends moved away from the shift; None if
        it has none."""
        from scipy.special import stdtrit

        ends = self._test.interval(confidence)
        if ends is None:
            return None
        level = (1 + confidence) / 2
        wider = stdtrit(self._by.freedom, level) / stdtrit(self._freedom, level) * self._by.factor
        low, high = ((end - self.shift) * float(wider) for end in ends)
        return self.shift + low, self.shift + high

    def p_above(self, bound: float) -> float | None:
        """Upper tail of t: small if the shift is above `bound`."""
        return self._tail(bound, self._test.p_above(bound), lower_end=True)

    def p_below(self, bound: float) -> float | None:
        """Lower tail of t: small if the shift is below `bound`."""
        return self._tail(bound, self._test.p_below(bound), lower_end=False)

    def _tail(self, bound: float, p: float | None, *, lower_end: bool) -> float | None:
        """Return the tail of t at the distance between shift and bound. `p` is that of the wrapped
        test: it stays if it is None, 0 or 1, and it gives t if that test has no interval."""
        from scipy.special import stdtr, stdtrit

        if p is None or not 0 < p < 1:
            return p
        ends = self._test.interval(_CONFIDENCE)
        if ends is None:
            t = stdtrit(self._freedom, p)
        else:
            distance = bound - self.shift if lower_end else self.shift - bound
            half = self.shift - ends[0] if lower_end else ends[1] - self.shift
            if half <= 0:
                return p
            t = distance / half * stdtrit(self._freedom, (1 + _CONFIDENCE) / 2)
        return float(stdtr(self._by.freedom, t / self._by.factor))
