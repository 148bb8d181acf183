"""Compares run folders: from their trials to rows with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from sfcperf.analysis.comparison.case import Case
from sfcperf.analysis.comparison.costs import costs_of
from sfcperf.analysis.comparison.crashes import crash_texts, crashes_of
from sfcperf.analysis.comparison.differences import differences
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.comparison.kept_floors import NoiseFloors, setup_of
from sfcperf.analysis.comparison.matching import Match, Matching, match
from sfcperf.analysis.comparison.noise_floor import FloorRecord
from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Comparison, Sample
from sfcperf.analysis.comparison.sides import MeasuredSide, Side, read_side
from sfcperf.analysis.comparison.warnings import warnings
from sfcperf.analysis.counted import counted
from sfcperf.analysis.losses import loss_of, loss_text
from sfcperf.analysis.two_sample import scale_of
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means


def compare(
    baseline: Side,
    candidate: Side,
    options: Options | None = None,
    floors: NoiseFloors | None = None,
) -> Comparison:
    """Compare one candidate with the baseline; parameters and errors are those of
    `compare_all`."""
    return compare_all(baseline, [candidate], options, floors)


def compare_all(
    baseline: Side,
    candidates: Sequence[Side],
    options: Options | None = None,
    floors: NoiseFloors | None = None,
) -> Comparison:
    """Compare each candidate with the baseline. The rows of primary metrics, of all candidates, are
    one family of tests; the other rows are another.

    Variants of one run are compared round by round, because the trials of a round are close in
    time; different runs are compared as independent groups. If a side has several runs, the run is
    the unit of replication. If each side is one run, `floors` tell what two runs of the same setup
    differ by; None: nothing is known of that.

    Raises InputError if a run folder is damaged, names of sides are not unique, or nothing of the
    sides matches.
    """
    options = options or Options()
    _check_unique([baseline, *candidates])
    base, others = read_side(baseline), [read_side(side) for side in candidates]
    matchings = [match(base, other, options) for other in others]
    options.check_names((m.label, m.metric.name) for found in matchings for m in found.matches)
    known = _KnownFloors(floors or NoiseFloors(), [base, *others])
    cases = [
        _case(base, other, match, known)
        for other, found in zip(others, matchings, strict=True)
        for match in found.matches
        if _is_selected(match, options)
    ]
    if not cases:
        raise _nothing_to_compare(base, others, matchings)
    rows = evaluate(cases, options)
    candidate_facts = tuple(other.facts for other in others)
    crashes = crashes_of(base.facts, candidate_facts, options)
    return Comparison(
        baseline=base.facts,
        candidates=candidate_facts,
        options=options,
        rows=tuple(rows),
        unmatched=tuple(item for found in matchings for item in found.unmatched),
        differences=tuple(item for other in others for item in differences(base, other)),
        warnings=(
            *crash_texts(base.facts, candidate_facts, crashes),
            *(text for found in matchings for text in found.warnings),
            *warnings([base, *others], rows, options),
        ),
        crashes=tuple(crashes),
    )


def _check_unique(sides: Sequence[Side]) -> None:
    """Raise InputError if two sides have the same name."""
    names = [side.name for side in sides]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError("this side is given twice", where=repeated[0])


def _is_selected(match: Match, options: Options) -> bool:
    """Whether the user chose the metric of a match: by its name, or, without names, because it is
    primary or all metrics are compared."""
    if options.metrics:
        names = {match.metric.name, f"{match.label}/{match.metric.name}"}
        return not names.isdisjoint(options.metrics)
    return match.metric.primary or options.all_metrics


def _case(base: MeasuredSide, other: MeasuredSide, match: Match, known: _KnownFloors) -> Case:
    """Collect what the evaluation of a match needs. Trials are paired by round if both sides are
    variants of one run, and no factor is pooled."""
    paired = base.is_same_run(other) and not match.pooled
    a, b = _samples(match, paired, [len(side.side.stores) > 1 for side in (base, other)])
    several = len(base.side.stores) > 1 or len(other.side.stores) > 1
    missing = [
        f"{sample.missing} of {sample.missing + len(sample.trials)} trials of "
        f"{side.name} {'does' if sample.missing == 1 else 'do'} not count"
        for side, sample in ((base, a), (other, b))
        if sample.missing
    ]
    losses = _losses(base, other, match)
    return Case(
        candidate=other.name,
        scenario=match.scenario,
        label=match.label,
        metric=match.metric,
        a=a,
        b=b,
        paired=paired,
        warnings=(*match.warnings, *missing, *losses.values()),
        lossy=tuple(losses),
        costs=costs_of([base, other]) if several else None,
        floor=None if several or paired else known.of(base, other, match, a, b),
    )


def _losses(base: MeasuredSide, other: MeasuredSide, match: Match) -> dict[str, str]:
    """Map the name of each side that lost notably many packets to a sentence about its loss: its
    numbers describe only the packets that were not lost."""
    sentences = {}
    for side, trials in ((base, match.a), (other, match.b)):
        loss = loss_of(record for _, record in trials if record.status == "valid")
        if loss is not None and loss.is_notable and not match.metric.out_of:
            sentences[side.name] = f"{side.name}, {match.label}: {loss_text(loss)}"
    return sentences


class _KnownFloors:
    """Looks up the machine's noise floors for the sides of one comparison."""

    def __init__(self, floors: NoiseFloors, sides: Sequence[MeasuredSide]) -> None:
        self._floors = floors
        # A setup is read from files, so none is read on a machine that keeps no floors.
        self._setups = {s.name: setup_of(s.side.store) for s in sides if floors.sets}

    def of(
        self, base: MeasuredSide, other: MeasuredSide, match: Match, a: Sample, b: Sample
    ) -> FloorRecord | None:
        """Return the floor of a row that has one run per side: by the scenario of the baseline, or
        else of the candidate. None if there is no such floor, if it does not fit the row's scale,
        if several scenarios are pooled, and for a side without values."""
        if match.pooled or not a.values or not b.values:
            return None
        setups = [self._setups.get(side.name) for side in (base, other)]
        floors = [
            self._floors.of(setups, levels, match.label, match.metric.name)
            for levels in match.levels
        ]
        floor = floors[0] or floors[1]
        # Whether a floor fits does not depend on the centre, hence 0.
        scale = scale_of(a.values, b.values, 0.0)
        return floor if floor is not None and floor.fits(scale) else None


@dataclass(frozen=True)
class _Value:
    """The value of a metric in one trial."""

    run: int
    """Number of the run in its side, from 0."""
    record: TrialRecord
    number: float


_Trials = Sequence[tuple[int, TrialRecord]]


def _samples(matched: Match, paired: bool, several: Sequence[bool]) -> tuple[Sample, Sample]:
    """Return the valid trials of both sides that have a sample of the metric. If paired, a round
    counts only if both sides have such a trial in it, and the trials are in the order of rounds.
    `several`: for each side, whether it has several runs."""
    a, b = (_values(trials, matched.metric.name) for trials in (matched.a, matched.b))
    if paired:
        both = {(v.run, v.record.round) for v in a} & {(v.run, v.record.round) for v in b}
        a, b = _by_round(a, both), _by_round(b, both)
    of = matched.metric.out_of
    return _sample(a, matched.a, of, several[0]), _sample(b, matched.b, of, several[1])


def _values(trials: _Trials, metric: str) -> list[_Value]:
    """Return the value of a metric in each valid trial that has one, in order of time within a run:
    pooled scenarios come one after the other, but were measured in turn."""
    ordered = sorted(trials, key=lambda pair: (pair[0], pair[1].round, pair[1].started_at))
    means = [(run, r, trial_means(r).get(metric)) for run, r in ordered if r.status == "valid"]
    return [_Value(run, record, value) for run, record, value in means if value is not None]


def _by_round(values: Sequence[_Value], rounds: set[tuple[int, int]]) -> list[_Value]:
    """Keep one trial per round of a run: the last valid one if the round was rerun."""
    last = {(v.run, v.record.round): v for v in values}
    return [last[place] for place in sorted(rounds)]


def _sample(values: Sequence[_Value], trials: _Trials, out_of: str, several: bool) -> Sample:
    """Make the sample of a side. `values`: those that count; `trials`: all of the match, of which
    the others are excluded; `out_of`: the note with the total of a share, empty for other
    metrics."""

    def name(run: int, record: TrialRecord) -> str:
        """Return the id of a trial that is unique in its side."""
        return f"{run + 1}/{record.trial_id}" if several else record.trial_id

    ids = tuple(name(v.run, v.record) for v in values)
    numbers = tuple(v.number for v in values)
    valid = set(ids)
    rounds = {(run, record.scenario_id, record.round) for run, record in trials}
    with_value = {(v.run, v.record.scenario_id, v.record.round) for v in values}
    packets = counted([v.record for v in values], numbers, out_of)
    return Sample(
        ids,
        numbers,
        float(median(numbers)) if numbers else None,
        fmean(numbers) if numbers else None,
        tuple(name(run, r) for run, r in trials if name(run, r) not in valid),
        len(rounds - with_value),
        None if packets is None else sum(packets.totals),
        None if packets is None else sum(packets.events),
        tuple(v.run for v in values) if several else (),
    )


def _nothing_to_compare(
    base: MeasuredSide, others: Sequence[MeasuredSide], matchings: Sequence[Matching]
) -> InputError:
    """Return the error that says why there is no row: no common primary metric, or no common
    result."""
    if any(found.matches for found in matchings):
        return InputError("both sides measured no common primary metric", hint="use --all")
    reasons = list(dict.fromkeys(item.reason for found in matchings for item in found.unmatched))
    names = ", ".join(side.name for side in (base, *others))
    return InputError(
        f"{names} have nothing in common: {reasons[0] if reasons else 'nothing was measured'}",
        hint="`--match FACTOR` and `--ignore FACTOR` choose the factors to match by",
    )
