"""The verdict of a row: statistical and practical significance, in that order of asking.

Equivalent wins: a difference that is shown to be within the margin does not matter, even when it
is shown to be there. Better and worse need a difference that is significant after Holm's
correction; whatever is shown in neither way is undecided, which is not the same as equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.analysis.comparison.holm import at_most
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Sample, Verdict
from sfcperf.analysis.comparison.samplesize import least_for
from sfcperf.analysis.comparison.shift import ShiftTest


@dataclass(frozen=True)
class Judgement:
    """A verdict and what to know about it."""

    verdict: Verdict
    warnings: tuple[str, ...] = ()


def verdict_of(
    test: ShiftTest | None, tost: float | None, p_holm: float | None, better: str, alpha: float
) -> Judgement:
    """`better` is the metric's: higher, lower or none."""
    significant = at_most(p_holm, alpha)
    if at_most(tost, alpha):
        small = ("there is a difference, and it is within the margin",) if significant else ()
        return Judgement("equivalent", small)
    if test is None or not significant:
        return Judgement("undecided")
    if better == "none":
        return Judgement("different")
    higher = (test.p_above(0.0) or 0.0) < (test.p_below(0.0) or 0.0)
    return Judgement("better" if higher == (better == "higher") else "worse")


def few_trials(a: Sample, b: Sample, test: ShiftTest | None, options: Options) -> tuple[str, ...]:
    """That no outcome could have shown a difference, and why."""
    if not a.values or not b.values:
        return ("a side has no trial that counts",)
    if test is None:
        return ("a t test needs two trials of each side",)
    if test.p is None:
        return ("the trials of a side are all the same: no dispersion to judge a t test by",)
    if at_most(test.p_least, options.alpha):
        return ()
    if len({*a.values, *b.values}) == 1:
        return ("every trial gave the same value",)
    paired = len(a.values) if test.name.endswith("signed-rank") else None
    wanted = least_for(options.alpha, paired is not None)
    if paired is not None and paired >= wanted:
        return ("too many pairs are equal for a test",)
    return (
        f"too few trials to show any difference: p cannot be below {test.p_least:.2g}; a row on "
        f"its own takes {wanted} {'rounds' if paired is not None else 'per side'}",
    )
