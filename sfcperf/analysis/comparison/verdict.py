"""The verdict of a row: practical significance first, then statistical significance.

A difference does not matter if both the shift of most trials and that of the means are shown to lie
within the margin, even if it is significant: the row is equivalent, or undecided if something
speaks against equivalence. Better and worse need a difference that is significant after Holm's
correction. All else is undecided, which does not mean equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfcperf.analysis.comparison.case import Case
from sfcperf.analysis.comparison.least_rounds import can_differ, least_rounds_text
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Verdict
from sfcperf.analysis.statistics import at_most
from sfcperf.analysis.two_sample import ShiftTest, least_trials


@dataclass(frozen=True)
class Decision:
    """A verdict with its warnings."""

    verdict: Verdict
    warnings: tuple[str, ...] = ()


def verdict_of(
    test: ShiftTest | None,
    tost: float | None,
    withheld: Sequence[str],
    p_holm: float | None,
    better: str,
    alpha: float,
) -> Decision:
    """Decide a row. `test`: of the shift, None for too few trials; `tost`: p of the two one-sided
    tests against the margin; `withheld`: reasons against equivalence; `better`: which values of the
    metric are better, `higher`, `lower` or `none`."""
    significant = at_most(p_holm, alpha)
    if at_most(tost, alpha):
        small = ("the difference is significant, but within the margin",) if significant else ()
        if withheld:
            reasons = f"within the margin, but not called equivalent: {'; '.join(withheld)}"
            return Decision("undecided", (*small, reasons))
        return Decision("equivalent", small)
    if test is None or not significant:
        return Decision("undecided")
    if better == "none":
        return Decision("different")
    # The smaller one-sided p tells the direction. A significant test has both; `or` is for the type
    # checker.
    higher = (test.p_above(0.0) or 0.0) < (test.p_below(0.0) or 0.0)
    return Decision("better" if higher == (better == "higher") else "worse")


def why_undecidable(
    case: Case, test: ShiftTest | None, options: Options, rows: int
) -> tuple[str, ...]:
    """Return the reason why no outcome could have shown a difference, or with several runs why it
    is hard to show; empty if there is none. `rows`: number of tests in the family."""
    a, b, paired = case.a, case.b, case.paired
    if not a.values or not b.values:
        return ("one side has no valid trial",)
    if case.by_runs:
        return _runs_undecidable(case, test)
    if test is None:
        return ("a t test needs two trials on each side",)
    if test.p is None:
        return ("a t test needs dispersion, but all trials of a side are equal",)
    if at_most(test.p_least, options.alpha):
        return ()
    if not can_differ(a, b):
        return ("every trial gave the same value",)
    if paired and len(a.values) >= least_trials(options.alpha, paired):
        return ("too many pairs are equal for a test",)
    return (
        f"too few trials to show any difference: p cannot be below {test.p_least:.2g}; use "
        f"{least_rounds_text(options.alpha, rows, paired=paired)}",
    )


def _runs_undecidable(case: Case, test: ShiftTest | None) -> tuple[str, ...]:
    """Return the reason why a row of several runs cannot be decided, or is hard to decide."""
    if test is None:
        return ("only one run has valid trials of both variants: a test needs two",)
    if test.p is None:
        return ("all runs of a side gave the same value: a test needs dispersion",)
    few = min(len(case.a.by_run()), len(case.b.by_run()))
    if few == 1 and not case.paired:
        return (
            "one side is a single run: it is taken to be as dispersed as the runs of the other",
        )
    if few == 2:
        return ("two runs hardly tell how runs differ: three or more decide much sooner",)
    return ()
