"""Two one-sided tests (TOST): is the shift shown to lie within the margin?

Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
Biopharmaceutics 15, 1987. With ranks instead of t: Wellek, Testing Statistical Hypotheses of
Equivalence and Noninferiority (2nd ed.), section 6.2.
"""

from __future__ import annotations

from sfcperf.analysis.comparison.shift import ShiftTest


def tost_p(test: ShiftTest, low: float, high: float) -> float | None:
    """The larger of both p; the shift lies between `low` and `high` when it is <= alpha.

    None when the values allow no test.
    """
    above, below = test.p_above(low), test.p_below(high)
    return None if above is None or below is None else max(above, below)
