"""From matched trials to the numbers that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from sfcperf.analysis.comparison.matching import Match
from sfcperf.analysis.comparison.result import Sample
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means


def samples(matched: Match, paired: bool) -> tuple[Sample, Sample]:
    """Of both sides: only valid trials with a sample of the metric; paired: only rounds in which
    both sides have one, in the order of rounds."""
    name = matched.metric.name
    a, b = _values(matched.a, name), _values(matched.b, name)
    if paired:
        both = {r.round for r, _ in a} & {r.round for r, _ in b}
        a, b = _by_round(a, both), _by_round(b, both)
    return _sample(a, matched.a), _sample(b, matched.b)


_Values = list[tuple[TrialRecord, float]]


def _values(trials: Sequence[TrialRecord], metric: str) -> _Values:
    found = [(r, trial_means(r).get(metric)) for r in trials if r.status == "valid"]
    return [(record, value) for record, value in found if value is not None]


def _by_round(values: _Values, rounds: set[int]) -> _Values:
    """One trial per round: where a round has several (it was rerun), the last that is valid."""
    last = {record.round: (record, value) for record, value in values}
    return [last[number] for number in sorted(rounds)]


def _sample(values: _Values, trials: Sequence[TrialRecord]) -> Sample:
    ids = tuple(record.trial_id for record, _ in values)
    numbers = tuple(value for _, value in values)
    counted = set(ids)
    run = {(record.scenario_id, record.round) for record in trials}
    known = {(record.scenario_id, record.round) for record, _ in values}
    return Sample(
        ids,
        numbers,
        float(median(numbers)) if numbers else None,
        fmean(numbers) if numbers else None,
        tuple(r.trial_id for r in trials if r.trial_id not in counted),
        len(run - known),
    )
