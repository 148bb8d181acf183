"""Evaluates the numbers of both sides: tests, families of rows, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from sfcperf.analysis.comparison.case import Case, mean_test, shift_test
from sfcperf.analysis.comparison.equivalence import coarseness, why_withheld
from sfcperf.analysis.comparison.least_rounds import can_differ
from sfcperf.analysis.comparison.options import Margin, Options
from sfcperf.analysis.comparison.replication import Question, advice, replication
from sfcperf.analysis.comparison.result import (
    Floor,
    Replication,
    Row,
    Verdict,
    percent_text,
)
from sfcperf.analysis.comparison.verdict import verdict_of, why_undecidable
from sfcperf.analysis.statistics import at_most, holm, least_to_see, rarest_mode
from sfcperf.analysis.two_sample import (
    Estimate,
    ObservedTrials,
    SampleSize,
    Scale,
    ShiftTest,
    cliffs_delta,
    hedges_g,
    needed,
    rank_biserial,
    scale_of,
)
from sfcperf.analysis.two_sample.stretched import SUFFIX


@dataclass(frozen=True)
class _CaseTests:
    """A case with its tests, before the correction for their number."""

    case: Case
    scale: Scale
    margin: Margin
    bounds: tuple[float, float] | None
    """The margin on the scale; None for a relative margin around a baseline of 0."""
    test: ShiftTest | None
    """Test of the shift, on the scale; None if there are too few trials for any."""
    means: ShiftTest | None
    """Test of the means, on the scale; None for fewer than two trials on a side."""
    tost: float | None
    """p of the two one-sided tests against the margin: the larger of those of shift and means."""
    means_differ: bool
    """Whether the shift is shown to be within the margin, and the means are not."""
    coarse: float
    """How far rounding may have moved a difference, in the unit; infinite if that is not known."""
    withheld: tuple[str, ...]
    """Reasons not to call the row equivalent."""


def evaluate(cases: Sequence[Case], options: Options, *, sizes: bool = True) -> list[Row]:
    """Test the cases and return a row for each, in their order. Primary metrics are one family of
    Holm's correction, all others are another. Without `sizes` undecided rows do not say how many
    trials they need: to compute that takes longer than all the rest."""
    tested = [_test(case, options) for case in cases]
    rows: dict[int, Row] = {}
    for primary in (True, False):
        family = [i for i, tests in enumerate(tested) if tests.case.metric.primary is primary]
        rows |= zip(family, _family([tested[i] for i in family], options, sizes), strict=True)
    return [rows[i] for i in range(len(tested))]


def _test(case: Case, options: Options) -> _CaseTests:
    """Test a case for a difference and for equivalence. Equivalence is tested against the margin
    less what rounding may hide."""
    a, b = case.a, case.b
    centre = a.median if options.test == "rank" else a.mean
    scale = scale_of(a.values, b.values, centre or 0.0)
    margin = options.margin_for(case.label, case.metric.name)
    test, means = shift_test(case, scale, options.test == "rank"), mean_test(case, scale)
    bounds = scale.bounds(margin.size, margin.absolute)
    coarse = coarseness(a.values, b.values, case.metric) if a.values and b.values else 0.0
    tost: float | None = None
    means_differ = False
    withheld: tuple[str, ...] = ()
    if test is not None and means is not None and bounds is not None:
        taken = scale.share(coarse) if isfinite(coarse) else 0.0
        narrower = (bounds[0] + taken, bounds[1] - taken)
        # Narrowed by a resolution coarser than itself, the margin would be empty. It is then tested
        # as it is, and `why_withheld` objects.
        tost_bounds = narrower if narrower[0] < narrower[1] else bounds
        of_shift, of_means = test.tost_p(*tost_bounds), means.tost_p(*tost_bounds)
        tost = None if of_shift is None or of_means is None else max(of_shift, of_means)
        means_differ = at_most(of_shift, options.alpha) and not at_most(of_means, options.alpha)
        withheld = why_withheld(a, b, case.metric, scale, narrower, test, options)
    return _CaseTests(
        case, scale, margin, bounds, test, means, tost, means_differ, coarse, withheld
    )


def _family(tested: Sequence[_CaseTests], options: Options, sizes: bool) -> list[Row]:
    """Correct the p-values of one family, and make its rows. Sample sizes are planned for the
    number of tests that more rounds could decide; not without `sizes`."""
    # Rows that no outcome could decide do not count for the correction (Tarone 1990).
    p_values = {
        i: p
        for i, tests in enumerate(tested)
        if tests.test is not None
        and at_most(tests.test.p_least, options.alpha)
        and (p := tests.test.p) is not None
    }
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    number = sum(t.test is not None and can_differ(t.case.a, t.case.b) for t in tested)
    return [
        _row(
            tests,
            options,
            corrected.get(i),
            len(corrected) if i in corrected else 0,
            number,
            sizes,
        )
        for i, tests in enumerate(tested)
    ]


def _row(
    tests: _CaseTests,
    options: Options,
    p_holm: float | None,
    family: int,
    number: int,
    sizes: bool,
) -> Row:
    """Make the row of a case. `p_holm`: its corrected p, None if the correction leaves the row out;
    `family`: number of rows that p was corrected for, 0 if it was left out; `number`: of rows that
    more rounds could decide, for which sample sizes are planned, if `sizes`."""
    case, test, alpha = tests.case, tests.test, options.alpha
    a, b = case.a.values, case.b.values
    decision = verdict_of(test, tests.tost, tests.withheld, p_holm, case.metric.better, alpha)
    confidence, ranks = 1 - alpha, options.test == "rank"
    size, runs = SampleSize(None, ""), None
    if case.by_runs:
        runs = replication(case.a, case.b, tests.scale, case.costs)
    if decision.verdict == "undecided" and sizes:
        size, runs = _needed(tests, options, alpha / max(1, number), runs)
    of_means = tuple(_about_means(tests, options))
    effect_size = rank_biserial if case.paired else cliffs_delta
    units = case.replicates()
    floor = _floor(tests, decision.verdict, options)
    return Row(
        candidate=case.candidate,
        scenario=case.scenario,
        label=case.label,
        metric=case.metric.name,
        unit=case.metric.unit,
        better=case.metric.better,
        primary=case.metric.primary,
        paired=case.paired,
        a=case.a,
        b=case.b,
        # On a scale without ratios, differences are in the unit.
        difference=_estimate(tests, Scale(False, tests.scale.centre), confidence, ranks),
        relative=_relative(tests, confidence, ranks),
        mean_difference=_estimate(tests, Scale(False, 0.0), confidence, ranks=False),
        effect=effect_size(*units, confidence) if all(units) else None,
        hedges_g=hedges_g(*units, case.paired, confidence),
        test="" if test is None else test.name,
        p=None if test is None else test.p,
        p_holm=p_holm,
        p_least=None if test is None else test.p_least,
        family=family,
        margin=None if tests.bounds is None else tests.margin.size,
        margin_absolute=tests.margin.absolute,
        tost_p=tests.tost,
        beyond_p=None if test is None or tests.bounds is None else test.beyond_p(*tests.bounds),
        tost_interval=_relative(tests, 1 - 2 * alpha, ranks),
        mean_ratio=_mean_ratio(tests, 1 - 2 * alpha),
        # Reasons against equivalence count where the tests show it; elsewhere the means may be one.
        withheld=tests.withheld if at_most(tests.tost, alpha) else of_means,
        rarest_mode=rarest_mode(min(len(a), len(b))),
        verdict=decision.verdict,
        n_needed=size.n,
        n_needed_for=size.purpose,
        warnings=(
            *case.warnings,
            *decision.warnings,
            *of_means,
            *_about_dependence(test),
            *filter(None, [floor.reason if floor else ""]),
            *why_undecidable(case, test, options, number),
        ),
        replication=runs,
        floor=floor,
        lossy=case.lossy,
    )


def _floor(tests: _CaseTests, verdict: Verdict, options: Options) -> Floor | None:
    """Return the noise floor of a row, with the reason if it keeps the row undecided; None if the
    machine has none for it."""
    if tests.case.floor is None:
        return None
    floor = tests.case.floor.floor(tests.case.a, tests.case.b, tests.scale, 1 - options.alpha)
    return replace(floor, reason=_within_floor(tests, floor, verdict, options))


def _within_floor(tests: _CaseTests, floor: Floor, verdict: Verdict, options: Options) -> str:
    """Say how the noise floor kept a row undecided that its trials alone would decide; empty if
    they would not decide it either."""
    kept = tests.case.floor
    if kept is None or verdict != "undecided":
        return ""
    of_floor = kept.test(tests.case.a, tests.case.b, tests.scale)
    alone = shift_test(replace(tests.case, floor=None), tests.scale, options.test == "rank")
    if alone is None:
        return ""
    if at_most(alone.p, options.alpha) and not at_most(of_floor.p, options.alpha):
        return f"within what two runs of the same thing differ by here ({_size(floor, tests)})"
    if tests.bounds is not None and at_most(alone.tost_p(*tests.bounds), options.alpha):
        return (
            "the trials are within the margin, but two runs of the same thing may differ by more "
            f"here ({_size(floor, tests)})"
        )
    return ""


def _size(floor: Floor, tests: _CaseTests) -> str:
    """Return the size and origin of a floor, for instance `4.1 %, from 5 A/A runs`."""
    size = percent_text(floor.limit)
    if not floor.ratios:
        size = f"{floor.limit:.2g} {tests.case.metric.unit}".removesuffix(" 1")
    return f"{size}, from {len(floor.runs)} A/A runs"


def _about_means(tests: _CaseTests, options: Options) -> Iterator[str]:
    """Warn that the means may differ by more than the margin although the shift does not."""
    ratio = _mean_ratio(tests, 1 - 2 * options.alpha) if tests.means_differ else None
    if ratio is None or ratio.low is None or ratio.high is None:
        return
    yield (
        "most trials are within the margin, but the means are not shown to be: their ratio differs "
        f"by {100 * ratio.value:+.2g} % [{100 * ratio.low:+.2g}, {100 * ratio.high:+.2g}]; look "
        "for a second mode"
    )


def _about_dependence(test: ShiftTest | None) -> Iterator[str]:
    """Warn if the test was corrected because trials depend on their predecessors."""
    if test is not None and SUFFIX in test.name:
        yield "successive trials resemble each other, so the interval is wider and p is larger"


def _relative(tests: _CaseTests, confidence: float, ranks: bool) -> Estimate | None:
    """Estimate the shift as a ratio of the baseline; None for too few trials, and for a baseline of
    0."""
    shift = _estimate(tests, tests.scale, confidence, ranks)
    return None if shift is None else tests.scale.relative(shift)


def _mean_ratio(tests: _CaseTests, confidence: float) -> Estimate | None:
    """Estimate the difference of the means as a ratio of the baseline; None without an interval,
    and for a baseline of 0."""
    if tests.means is None or (ends := tests.means.interval(confidence)) is None:
        return None
    low, high = _wider(tests, tests.scale, ends)
    return tests.scale.relative(
        Estimate(tests.means.shift, low, high, confidence, tests.means.estimator)
    )


def _estimate(tests: _CaseTests, scale: Scale, confidence: float, ranks: bool) -> Estimate | None:
    """Estimate the shift on a scale by ranks or by t; by t also if there are too few trials for an
    interval by ranks. None if there are too few for any estimate."""
    test = shift_test(tests.case, scale, ranks)
    if test is None:
        return None
    ends = test.interval(confidence)
    if ends is None and ranks and (by_t := _estimate(tests, scale, confidence, ranks=False)):
        return by_t
    low, high = _wider(tests, scale, ends) if ends else (None, None)
    return Estimate(test.shift, low, high, confidence, test.estimator)


def _wider(
    tests: _CaseTests, scale: Scale, ends: tuple[float, float]
) -> tuple[float, float] | tuple[None, None]:
    """Widen an interval by what rounding may have moved the difference. No ends if the resolution
    is not known."""
    if not isfinite(tests.coarse):
        return None, None
    taken = scale.share(tests.coarse)
    return ends[0] - taken, ends[1] + taken


def _needed(
    tests: _CaseTests, options: Options, step: float, runs: Replication | None
) -> tuple[SampleSize, Replication | None]:
    """Return how many trials or runs would decide an undecided row, and its `runs` with the advice
    that belongs to them (None without several runs). There is no size for fewer than two trials on
    a side, nor for a row with a noise floor."""
    a, b = tests.scale.of(tests.case.a.values), tests.scale.of(tests.case.b.values)
    if tests.test is None or min(len(a), len(b)) < 2:
        return SampleSize(None, ""), runs
    # Equivalence is not planned where the means prevent it: the plan knows the shift alone.
    bounds = None if tests.means_differ else tests.bounds
    if runs is not None:
        question = Question(
            tests.test.shift, step, options.alpha, bounds, options.rarest, tests.case.paired
        )
        found, cheapest, alone = advice(runs, tests.case.a, tests.case.b, tests.scale, question)
        return found, replace(runs, cheapest=cheapest, rounds_alone=alone)
    if tests.case.floor is not None:
        # What runs differ by does not shrink with more trials.
        return SampleSize(None, ""), None
    found = needed(
        ObservedTrials(
            a,
            b,
            paired=tests.case.paired,
            ranks=options.test == "rank",
            shift=tests.test.shift,
            alpha=step,
            alpha_tost=options.alpha,
            bounds=bounds,
        )
    )
    if found.purpose == "equivalence" and found.n is not None:
        # Equivalence also needs enough trials to see rare modes.
        return SampleSize(max(found.n, least_to_see(options.rarest)), found.purpose), None
    return found, None
