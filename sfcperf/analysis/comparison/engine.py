"""Compare: from run folders to rows with a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.analysis.comparison.circumstances import differences
from sfcperf.analysis.comparison.judge import Case, judge
from sfcperf.analysis.comparison.margins import check_names
from sfcperf.analysis.comparison.matching import Match, Matching, match
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.remarks import remarks
from sfcperf.analysis.comparison.result import Comparison
from sfcperf.analysis.comparison.samples import samples
from sfcperf.analysis.comparison.sides import Measured, Side, read_side
from sfcperf.errors import InputError


def compare(baseline: Side, candidate: Side, options: Options | None = None) -> Comparison:
    """One candidate against the baseline; `compare_all` says what is raised."""
    return compare_all(baseline, [candidate], options)


def compare_all(
    baseline: Side, candidates: Sequence[Side], options: Options | None = None
) -> Comparison:
    """Each candidate against the baseline, in one family of tests.

    Variants of one run are compared round by round, since the trials of a round are neighbours in
    time; runs are compared as independent groups.

    Raises InputError when a run folder is damaged, names of sides are not unique, or nothing of
    the sides matches.
    """
    options = options or Options()
    _check_names([baseline, *candidates])
    base, others = read_side(baseline), [read_side(side) for side in candidates]
    matchings = [match(base, other, options) for other in others]
    check_names(options, [(m.label, m.metric.name) for found in matchings for m in found.matches])
    cases = [
        _case(base, other, one)
        for other, found in zip(others, matchings, strict=True)
        for one in found.matches
        if _wanted(one, options)
    ]
    if not cases:
        raise _nothing(base, others, matchings)
    rows = judge(cases, options)
    return Comparison(
        baseline=base.facts,
        candidates=tuple(other.facts for other in others),
        options=options,
        rows=tuple(rows),
        unmatched=tuple(item for found in matchings for item in found.unmatched),
        differences=tuple(item for other in others for item in differences(base, other)),
        warnings=(
            *(text for found in matchings for text in found.warnings),
            *remarks([base, *others], rows, options),
        ),
    )


def _check_names(sides: Sequence[Side]) -> None:
    names = [side.name for side in sides]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError("this side is given twice", where=twice[0])


def _wanted(one: Match, options: Options) -> bool:
    if options.metrics:
        names = {one.metric.name, f"{one.label}/{one.metric.name}"}
        return not names.isdisjoint(options.metrics)
    return one.metric.primary or options.all_metrics


def _case(base: Measured, other: Measured, one: Match) -> Case:
    folders = {side.side.store.folder.resolve() for side in (base, other)}
    paired = len(folders) == 1 and not one.pooled
    a, b = samples(one, paired)
    missing = [
        f"{sample.missing} of {sample.missing + len(sample.trials)} trials of "
        f"{side.name} do not count"
        for side, sample in ((base, a), (other, b))
        if sample.missing
    ]
    return Case(
        candidate=other.name,
        scenario=one.scenario,
        label=one.label,
        metric=one.metric,
        a=a,
        b=b,
        paired=paired,
        warnings=(*one.warnings, *missing),
    )


def _nothing(
    base: Measured, others: Sequence[Measured], matchings: Sequence[Matching]
) -> InputError:
    """Why there is not a single row."""
    if any(found.matches for found in matchings):
        return InputError("no primary metric was measured by both sides", hint="--all compares all")
    reasons = list(dict.fromkeys(item.reason for found in matchings for item in found.unmatched))
    names = ", ".join(side.name for side in (base, *others))
    return InputError(
        f"nothing of {names} can be matched: {reasons[0] if reasons else 'nothing was measured'}",
        hint="`--match FACTOR` and `--ignore FACTOR` say by which factors to match",
    )
