"""The analysis `steady`: steady.json, whether telemetry is steady within the trials.

A CPU that is busier at the end of a trial than in its middle shows that the trial measured a
transient, even if the probe has too few samples to show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import median
from typing import Any, ClassVar

from sfcperf.analysis.base import Analysis, list_of_names
from sfcperf.analysis.statistics import steadiness
from sfcperf.analysis.telemetry.joined import kind_of
from sfcperf.plugins import object_schema
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY

_NS_PER_S = 1e9


@dataclass(frozen=True)
class Series:
    """Observations of one telemetry series in one trial."""

    scenario_id: str
    label: str
    """Of the probe that ran at the time."""
    source: str
    metric: str
    unit: str
    times_ns: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class Row:
    """One telemetry series in the trials of one probe in one scenario."""

    scenario_id: str
    scenario: Mapping[str, Any]
    label: str
    source: str
    series: str
    unit: str
    trials: int
    observations: int
    """Per trial, the median."""
    steady: str
    """`steady`, `warm-up`, `never`; empty for too few observations."""
    p: float | None
    """Of a level that changes with the position in the trial."""
    after: int | None
    """Observations of the warm-up."""
    after_s: float | None
    """Duration of the warm-up."""
    bias_ratio: float | None
    """What the warm-up adds to the mean of the series."""
    method: str


class SteadyAnalysis(Analysis):
    """Writes steady.json: for each telemetry series and scenario, whether its level changes within
    the trials, and when the warm-up ends (MSER-5)."""

    name: ClassVar[str] = "steady"
    title: ClassVar[str] = "Steady state of telemetry within the trials"
    parameters = object_schema(
        {"series": list_of_names("Metrics of monitors. Default: all levels, rates and counts.")}
    )

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of steady.json, which is written too; it has no rows for a run without
        telemetry."""
        records = {r.trial_id: r for r in run.trials() if r.status == "valid"}
        selected = self.parameters.get("series")
        found = sorted(_series(run, records, selected), key=_key)
        rows = [_row(list(group), records) for _, group in groupby(found, key=_key)]
        missing = sorted(set(selected or ()) - {row.series for row in rows})
        document = {
            "run_id": run.run_id,
            "series": [asdict(row) for row in rows],
            "notes": [
                f"no observation of {name!r} in valid trials of this run" for name in missing
            ],
        }
        run.write_document(RunFile.STEADY, document)
        return document


def _series(
    run: RunStore, records: Mapping[str, TrialRecord], selected: Sequence[str] | None
) -> Iterator[Series]:
    """Series of the valid trials; by default all but totals, which are single values."""
    if not run.telemetry_path.is_file():
        return
    table = TELEMETRY.read(run.telemetry_path).group_by(["trial_id", "source", "metric", "unit"])
    for row in table.aggregate([("time_ns", "list"), ("value", "list")]).to_pylist():
        record, metric = records.get(row["trial_id"]), row["metric"]
        included = kind_of(metric) != "total" if selected is None else metric in selected
        if record is None or not included:
            continue
        ordered = sorted(zip(row["time_ns_list"], row["value_list"], strict=True))
        times, values = zip(*ordered, strict=True)
        yield Series(
            record.scenario_id, record.label, row["source"], metric, row["unit"], times, values
        )


def _key(series: Series) -> tuple[str, str, str, str, str]:
    return (series.scenario_id, series.label, series.metric, series.source, series.unit)


def _row(group: Sequence[Series], records: Mapping[str, TrialRecord]) -> Row:
    first = group[0]
    found = steadiness([one.values for one in group])
    after_s = None
    if found.after is not None:
        starts = [one.times_ns for one in group if len(one.times_ns) > found.after]
        after_s = median(times[found.after] - times[0] for times in starts) / _NS_PER_S
    scenario = next(r.scenario for r in records.values() if r.scenario_id == first.scenario_id)
    return Row(
        scenario_id=first.scenario_id,
        scenario=scenario,
        label=first.label,
        source=first.source,
        series=first.metric,
        unit=first.unit,
        trials=len(group),
        observations=round(median(len(one.values) for one in group)),
        steady=found.state,
        p=found.p,
        after=found.after,
        after_s=after_s,
        bias_ratio=found.bias_ratio,
        method=found.method,
    )
