"""A test whose trials are not independent: their number counts for less."""

from __future__ import annotations

from sfcperf.analysis.statistics import VarianceInflation
from sfcperf.analysis.two_sample.shift import ShiftTest

SUFFIX = ", corrected for autocorrelation"
"""Of the names of such tests."""
_CONFIDENCE = 0.95
"""Of the interval that gives the standard error."""


class InflatedTest(ShiftTest):
    """Another test with a standard error that is `by.factor` times larger.

    p-values and interval are those of a t statistic: the shift over the standard error that the
    test's interval stands for, enlarged by the factor, with the degrees of freedom that the
    effective number of trials leaves. The p of ranks would not do: it is bounded by the number of
    trials, and enlarging it could hide a shift of any size.
    """

    def __init__(self, test: ShiftTest, freedom: float, by: VarianceInflation) -> None:
        self._test, self._freedom, self._by = test, freedom, by

    @property
    def name(self) -> str:  # type: ignore[override]
        """Says that there is a correction."""
        return f"{self._test.name}{SUFFIX}"

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
        above, below = self.p_above(0), self.p_below(0)
        return None if above is None or below is None else min(1.0, 2 * above, 2 * below)

    @property
    def p_least(self) -> float:
        """That of the test itself, without the bound where the shift has a standard error."""
        return self._test.p_least if self._test.interval(_CONFIDENCE) is None else 0.0

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
        return self._tail(bound, self._test.p_above(bound), lower_end=True)

    def p_below(self, bound: float) -> float | None:
        """The lower tail."""
        return self._tail(bound, self._test.p_below(bound), lower_end=False)

    def _tail(self, bound: float, p: float | None, *, lower_end: bool) -> float | None:
        """Of the distance to the bound; `p`: of the test itself."""
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
