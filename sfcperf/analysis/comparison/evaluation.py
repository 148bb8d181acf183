"""Evaluates the numbers of both sides: tests, families of rows, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.analysis.comparison.options import Margin, Options
from sfcperf.analysis.comparison.result import Row, Sample
from sfcperf.analysis.comparison.verdict import verdict_of, why_undecidable
from sfcperf.analysis.statistics import at_most, holm
from sfcperf.analysis.two_sample import (
    Estimate,
    Needed,
    Observed,
    PairedT,
    RankSum,
    Scale,
    ShiftTest,
    SignedRank,
    WelchT,
    cliffs_delta,
    hedges_g,
    needed,
    rank_biserial,
    scale_of,
)
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class Case:
    """A row before it is evaluated."""

    candidate: str
    scenario: Mapping[str, Any]
    label: str
    metric: Metric
    a: Sample
    b: Sample
    paired: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Tested:
    """A case with its tests, before the correction for their number."""

    case: Case
    scale: Scale
    margin: Margin
    bounds: tuple[float, float] | None
    """The margin on the scale."""
    test: ShiftTest | None
    """On the scale; None if there are too few trials for any."""
    tost: float | None


def evaluate(cases: Sequence[Case], options: Options, *, sizes: bool = True) -> list[Row]:
    """Rows in the order of the cases. Primary metrics are one family of Holm's correction, the
    others are another. Without `sizes` undecided rows do not say how many trials they need, which
    takes longer than all the rest."""
    tested = [_test(case, options) for case in cases]
    rows: dict[int, Row] = {}
    for primary in (True, False):
        family = [i for i, one in enumerate(tested) if one.case.metric.primary is primary]
        rows |= zip(family, _family([tested[i] for i in family], options, sizes), strict=True)
    return [rows[i] for i in range(len(tested))]


def _test(case: Case, options: Options) -> _Tested:
    a, b = case.a, case.b
    centre = a.median if options.test == "rank" else a.mean
    scale = scale_of(a.values, b.values, centre or 0.0)
    margin = options.margin_for(case.label, case.metric.name)
    test = _shift_test(case, scale, options.test == "rank")
    bounds = scale.bounds(margin.size, margin.absolute)
    tested_bounds = bounds
    if bounds is None and len({*a.values, *b.values}) == 1:
        # A baseline of 0 has no relative margin, but both sides are equal if they are always 0.
        tested_bounds = (-1.0, 1.0)
    tost = None if test is None or tested_bounds is None else test.tost_p(*tested_bounds)
    return _Tested(case, scale, margin, bounds, test, tost)


def _shift_test(case: Case, scale: Scale, ranks: bool) -> ShiftTest | None:
    a, b = scale.of(case.a.values), scale.of(case.b.values)
    if min(len(a), len(b)) < (1 if ranks else 2):
        return None
    if ranks:
        return SignedRank(a, b) if case.paired else RankSum(a, b)
    return PairedT(a, b) if case.paired else WelchT(a, b)


def _family(tested: Sequence[_Tested], options: Options, sizes: bool) -> list[Row]:
    # Rows that no outcome could decide do not count for the correction.
    p_values = {
        i: p
        for i, one in enumerate(tested)
        if one.test is not None
        and at_most(one.test.p_least, options.alpha)
        and (p := one.test.p) is not None
    }
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    step = options.alpha / max(1, sum(one.test is not None for one in tested))
    return [
        _row(
            one,
            options,
            corrected.get(i),
            len(corrected) if i in corrected else 0,
            step if sizes else None,
        )
        for i, one in enumerate(tested)
    ]


def _row(
    one: _Tested, options: Options, p_holm: float | None, family: int, step: float | None
) -> Row:
    case, test, alpha = one.case, one.test, options.alpha
    a, b = case.a.values, case.b.values
    found = verdict_of(test, one.tost, p_holm, case.metric.better, alpha)
    confidence, ranks = 1 - alpha, options.test == "rank"
    shift = _estimate(case, one.scale, confidence, ranks)
    more = Needed(None, "")
    if found.verdict == "undecided" and step is not None:
        more = _needed(one, options, step)
    effect_size = rank_biserial if case.paired else cliffs_delta
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
        difference=_estimate(case, Scale(False, one.scale.centre), confidence, ranks),
        relative=None if shift is None else one.scale.relative(shift),
        mean_difference=_estimate(case, Scale(False, 0.0), confidence, ranks=False),
        effect=effect_size(a, b, confidence) if a and b else None,
        hedges_g=hedges_g(a, b, case.paired, confidence),
        test="" if test is None else test.name,
        p=None if test is None else test.p,
        p_holm=p_holm,
        p_least=None if test is None else test.p_least,
        family=family,
        margin=None if one.bounds is None else one.margin.size,
        margin_absolute=one.margin.absolute,
        tost_p=one.tost,
        verdict=found.verdict,
        n_needed=more.n,
        n_needed_for=more.purpose,
        warnings=(
            *case.warnings,
            *found.warnings,
            *why_undecidable(case.a, case.b, test, case.paired, options),
        ),
    )


def _estimate(case: Case, scale: Scale, confidence: float, ranks: bool) -> Estimate | None:
    """By the deciding method, or by t if there are too few trials for an interval by ranks."""
    test = _shift_test(case, scale, ranks)
    if test is None:
        return None
    ends = test.interval(confidence)
    if ends is None and ranks and (by_t := _estimate(case, scale, confidence, ranks=False)):
        return by_t
    low, high = ends or (None, None)
    return Estimate(test.shift, low, high, confidence, test.estimator)


def _needed(one: _Tested, options: Options, step: float) -> Needed:
    a, b = one.scale.of(one.case.a.values), one.scale.of(one.case.b.values)
    if one.test is None or min(len(a), len(b)) < 2:
        return Needed(None, "")
    return needed(
        Observed(
            a,
            b,
            paired=one.case.paired,
            ranks=options.test == "rank",
            shift=one.test.shift,
            alpha=step,
            alpha_tost=options.alpha,
            bounds=one.bounds,
        )
    )
