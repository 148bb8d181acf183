"""From the numbers of both sides to rows: tests, families, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.analysis.comparison import effect
from sfcperf.analysis.comparison.equivalence import tost_p
from sfcperf.analysis.comparison.holm import at_most, holm
from sfcperf.analysis.comparison.margins import Margin, margin_for
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.ranks import RankSum, SignedRank
from sfcperf.analysis.comparison.result import Estimate, Row, Sample
from sfcperf.analysis.comparison.samplesize import Needed, Observed, needed
from sfcperf.analysis.comparison.scale import Scale, scale_of
from sfcperf.analysis.comparison.shift import ShiftTest
from sfcperf.analysis.comparison.student import PairedT, WelchT
from sfcperf.analysis.comparison.verdict import few_trials, verdict_of
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class Case:
    """A row before it is judged."""

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
    test: ShiftTest | None
    """On the scale; None with too few trials for any."""
    tost: float | None


def judge(cases: Sequence[Case], options: Options, *, sizes: bool = True) -> list[Row]:
    """Rows in the order of the cases. Primary metrics are one family of Holm's correction, the
    others are another. Without `sizes` nobody is told how many trials would decide, which takes
    longer than all the rest."""
    tested = [_test(case, options) for case in cases]
    rows: list[Row | None] = [None] * len(tested)
    for primary in (True, False):
        family = [i for i, one in enumerate(tested) if one.case.metric.primary is primary]
        for index, row in zip(
            family, _family([tested[i] for i in family], options, sizes), strict=True
        ):
            rows[index] = row
    return [row for row in rows if row is not None]


def _test(case: Case, options: Options) -> _Tested:
    a, b = case.a, case.b
    centre = a.median if options.test == "rank" else a.mean
    scale = scale_of(a.values, b.values, centre or 0.0)
    margin = margin_for(case.label, case.metric.name, options)
    test = _bound(case, scale, options.test == "rank")
    bounds = scale.bounds(margin.size, margin.absolute)
    around = bounds
    if around is None and len({*a.values, *b.values}) == 1:
        # A baseline of 0 has no relative margin, but what is always 0 on both sides is the same.
        around = (-1.0, 1.0)
    tost = None if test is None or around is None else tost_p(test, *around)
    return _Tested(case, scale, margin, bounds, test, tost)


def _bound(case: Case, scale: Scale, ranks: bool) -> ShiftTest | None:
    a, b = scale.of(case.a.values), scale.of(case.b.values)
    if min(len(a), len(b)) < (1 if ranks else 2):
        return None
    if ranks:
        return SignedRank(a, b) if case.paired else RankSum(a, b)
    return PairedT(a, b) if case.paired else WelchT(a, b)


def _family(tested: Sequence[_Tested], options: Options, sizes: bool) -> list[Row]:
    p_values = [_p(one, options.alpha) for one in tested]
    members = [i for i, p in enumerate(p_values) if p is not None]
    corrected = dict(zip(members, holm([p for p in p_values if p is not None]), strict=True))
    step = options.alpha / max(1, sum(one.test is not None for one in tested))
    return [
        _row(
            one,
            options,
            corrected.get(i),
            len(members) if i in corrected else 0,
            step if sizes else None,
        )
        for i, one in enumerate(tested)
    ]


def _p(one: _Tested, alpha: float) -> float | None:
    """None for what no outcome could decide: it costs the family nothing."""
    if one.test is None or not at_most(one.test.p_least, alpha):
        return None
    return one.test.p


def _row(
    one: _Tested, options: Options, p_holm: float | None, family: int, step: float | None
) -> Row:
    case, test, alpha = one.case, one.test, options.alpha
    found = verdict_of(test, one.tost, p_holm, case.metric.better, alpha)
    confidence, ranks = 1 - alpha, options.test == "rank"
    shift = _estimate(case, one.scale, confidence, ranks)
    raw = _estimate(case, Scale(False, one.scale.centre), confidence, ranks)
    more = Needed(None, "")
    if found.verdict == "undecided" and step is not None:
        more = _needed(one, options, step)
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
        difference=raw,
        relative=None if shift is None else one.scale.relative(shift),
        mean_difference=_estimate(case, Scale(False, 0.0), confidence, ranks=False),
        effect=_effect(case, confidence),
        hedges_g=_hedges(case, confidence),
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
        warnings=(*case.warnings, *found.warnings, *few_trials(case.a, case.b, test, options)),
    )


def _estimate(case: Case, scale: Scale, confidence: float, ranks: bool) -> Estimate | None:
    """By the deciding method; by t where ranks have no interval for so few trials, and say so."""
    test = _bound(case, scale, ranks)
    if test is None:
        return None
    ends = test.interval(confidence)
    if ends is None and ranks:
        return _estimate(case, scale, confidence, ranks=False) or Estimate(
            test.shift, None, None, confidence, test.estimator
        )
    low, high = ends or (None, None)
    return Estimate(test.shift, low, high, confidence, test.estimator)


def _effect(case: Case, confidence: float) -> Estimate | None:
    a, b = case.a.values, case.b.values
    if not a or not b:
        return None
    size = effect.rank_biserial if case.paired else effect.cliffs_delta
    return size(a, b, confidence)


def _hedges(case: Case, confidence: float) -> Estimate | None:
    a, b = case.a.values, case.b.values
    if min(len(a), len(b)) < 2:
        return None
    return effect.hedges_g(a, b, case.paired, confidence)


def _needed(one: _Tested, options: Options, step: float) -> Needed:
    a, b = one.scale.of(one.case.a.values), one.scale.of(one.case.b.values)
    if one.test is None or min(len(a), len(b)) < 2:
        return Needed(None, "")
    return needed(
        Observed(
            a, b, one.case.paired, options.test == "rank", one.test.shift, step, options.alpha,
            one.bounds,
        )
    )  # fmt: skip
