"""Diagnosis: whether trials can be taken for independent repetitions of one thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfcperf.analysis import outliers as outlying
from sfcperf.analysis.dependence import Dependence, dependence
from sfcperf.analysis.remarks import warnings
from sfcperf.analysis.steady import Steadiness, steadiness
from sfcperf.results.percentiles import percentiles
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_series

SAMPLE_PERCENTILES = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True)
class Diagnosis:
    """Of one metric of the trials that count."""

    outliers: tuple[str, ...]
    """Ids of trials, by round."""
    outlier_method: str
    """Empty when the trials were too few to look for outliers."""
    order: Dependence
    within: Steadiness
    samples_n: int
    samples: dict[int, float | None]
    """SAMPLE_PERCENTILES of the samples of all trials."""
    warnings: tuple[str, ...]


def diagnose(records: Sequence[TrialRecord], values: Sequence[float], metric: str) -> Diagnosis:
    """`values`: the number of each trial, in the order of `records`."""
    marked = outlying.outliers(values)
    by_time = sorted(range(len(records)), key=lambda i: (records[i].started_at, records[i].round))
    order = dependence([values[place] for place in by_time])
    series = [found for record in records if len(found := trial_series(record, metric))]
    within = steadiness(series)
    pooled = _pooled(series)
    ids = tuple(records[place].trial_id for place in marked)
    return Diagnosis(
        outliers=ids,
        outlier_method=outlying.METHOD if len(values) >= outlying.LEAST else "",
        order=order,
        within=within,
        samples_n=len(pooled),
        samples=dict(percentiles(pooled, SAMPLE_PERCENTILES)),
        warnings=tuple(warnings(len(values), ids, order, within)),
    )


def _pooled(series: Iterable[Sequence[float]]) -> list[float]:
    return [value for one in series for value in one]
