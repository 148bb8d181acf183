"""The summary: one row per scenario, probe and metric (paper: analysis module)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from sfcperf.active.base import Metric
from sfcperf.analysis.base import Analysis
from sfcperf.analysis.confidence import confidence_of
from sfcperf.analysis.intervals import MEAN_METHOD, MEDIAN_METHOD
from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.analysis.statistics import describe
from sfcperf.analysis.stopping import PLANNED_ROUNDS_DONE
from sfcperf.analysis.trial_values import trial_means
from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore


class SummaryAnalysis(Analysis):
    """Writes summary.json and summary.csv from trials.jsonl and the manifest alone."""

    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "Mean, median, dispersion and confidence intervals per scenario"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of summary.json, which is written too.

        Raises InputError when the run folder is damaged.
        """
        manifest = run.manifest()
        confidence = confidence_of(run)
        rows = [
            row
            for measurement in planned_measurements(manifest, run.trials())
            for row in _rows(measurement, confidence, _stop_reason(manifest, measurement))
        ]
        run.write_summary(rows)
        return {"run_id": run.run_id, "summaries": [asdict(row) for row in rows]}


def _rows(measurement: PlannedMeasurement, confidence: float, stop_reason: str) -> list[Summary]:
    means = {
        record.trial_id: trial_means(record)
        for record in measurement.trials
        if record.status == "valid"
    }
    return [
        _row(measurement, metric, means, confidence, stop_reason) for metric in measurement.metrics
    ]


def _row(
    measurement: PlannedMeasurement,
    metric: Metric,
    means: Mapping[str, Mapping[str, float]],
    confidence: float,
    stop_reason: str,
) -> Summary:
    values = {trial: found[metric.name] for trial, found in means.items() if metric.name in found}
    excluded = [record for record in measurement.trials if record.status != "valid"]
    silent = [trial for trial in means if trial not in values]
    described = describe(list(values.values()), confidence)
    mean_ci, median_ci = described.mean_interval, described.median_interval
    return Summary(
        scenario=measurement.scenario,
        scenario_id=measurement.scenario_id,
        probe=measurement.probe,
        label=measurement.label,
        metric=metric.name,
        unit=metric.unit,
        n=described.n,
        mean=described.mean,
        median=described.median,
        stdev=described.stdev,
        min=described.min,
        max=described.max,
        ci_low=mean_ci.low if mean_ci else None,
        ci_high=mean_ci.high if mean_ci else None,
        confidence=confidence,
        method=MEAN_METHOD,
        valid=not excluded and not measurement.missing_rounds and not silent,
        reasons=(
            *(f"{r.trial_id} {r.status}: {'; '.join(r.reasons)}" for r in excluded),
            *(f"round {number} was not run" for number in measurement.missing_rounds),
            *(f"{trial} has no sample of {metric.name}" for trial in silent),
        ),
        trials=tuple(values),
        excluded=tuple(record.trial_id for record in excluded),
        better=metric.better,
        primary=metric.primary,
        stop_reason=stop_reason,
        median_ci_low=median_ci.low if median_ci else None,
        median_ci_high=median_ci.high if median_ci else None,
        median_method=MEDIAN_METHOD,
        relative_half_width=described.relative_half_width,
    )


def _stop_reason(manifest: Mapping[str, Any], measurement: PlannedMeasurement) -> str:
    """As the control module recorded it; else what the trials tell of a run that ended early."""
    recorded = manifest.get("stopping", {}).get(measurement.scenario_id)
    if recorded is not None:
        return str(recorded)
    done = measurement.rounds - len(measurement.missing_rounds)
    adaptive = manifest.get("design", {}).get("stop_when") is not None
    if adaptive or measurement.missing_rounds:
        return f"the run ended early, after {done} of {measurement.rounds} rounds"
    return PLANNED_ROUNDS_DONE
