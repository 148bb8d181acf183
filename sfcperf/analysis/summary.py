"""The summary: one row per scenario, probe and metric (paper: analysis module)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sfcperf.analysis.base import NO_PARAMETERS, Analysis
from sfcperf.analysis.counted import counted
from sfcperf.analysis.diagnosis import Diagnosis, diagnose
from sfcperf.analysis.losses import loss_of, loss_text
from sfcperf.analysis.planned import (
    PlannedMeasurement,
    planned_measurements,
    rules_of,
)
from sfcperf.analysis.statistics import Description, Estimate, Rules, describe
from sfcperf.analysis.stopping import PLANNED_ROUNDS_DONE
from sfcperf.counts import count_text
from sfcperf.results.attempts import AttemptCounts, attempt_counts
from sfcperf.results.documents import summary_row
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.results.values import Loss, Metric


class SummaryAnalysis(Analysis):
    """Writes summary.json and summary.csv from trials.jsonl and the manifest alone."""

    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "Mean, median, dispersion and confidence intervals per scenario"
    parameters: ClassVar[Mapping[str, Any]] = NO_PARAMETERS

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Write summary.json and summary.csv, and return the document of the former."""
        rows = summarise(run, planned_measurements(run.manifest(), run.trials()))
        run.write_summary(rows)
        return {"run_id": run.run_id, "summaries": [summary_row(row) for row in rows]}


def summarise(run: RunStore, measurements: Sequence[PlannedMeasurement]) -> list[Summary]:
    """Return a row for each metric of each measurement of a run. Raises InputError if the run
    folder is damaged."""
    manifest, rules = run.manifest(), rules_of(run)
    return [
        row
        for measurement in measurements
        for row in _Rows(measurement, rules, _stop_reason(manifest, measurement)).all()
    ]


@dataclass(frozen=True)
class _Rows:
    """Makes the rows of one probe in one scenario."""

    measurement: PlannedMeasurement
    rules: Rules
    stop_reason: str

    def all(self) -> list[Summary]:
        """Return a row for each metric, from the valid trials."""
        valid = [record for record in self.measurement.trials if record.status == "valid"]
        means = [(record, trial_means(record)) for record in valid]
        return [self._row(metric, means) for metric in self.measurement.metrics]

    def _row(
        self, metric: Metric, means: Sequence[tuple[TrialRecord, Mapping[str, float]]]
    ) -> Summary:
        """Make the row of a metric. `means`: valid trials with their numbers by metric. The row is
        not valid if a round has no valid trial, or a valid trial has no sample of the metric."""
        with_sample = [
            (record, numbers[metric.name]) for record, numbers in means if metric.name in numbers
        ]
        with_sample.sort(key=lambda pair: pair[0].started_at)
        records, values = [record for record, _ in with_sample], [value for _, value in with_sample]
        without_sample = [r.trial_id for r, numbers in means if metric.name not in numbers]
        measurement = self.measurement
        not_replaced, excluded = measurement.not_replaced, measurement.excluded
        attempts, loss = attempt_counts(measurement.trials), loss_of(records)
        diagnosis = diagnose(records, values, metric, self.rules)
        return Summary(
            scenario=measurement.scenario,
            scenario_id=measurement.scenario_id,
            probe=measurement.probe,
            label=measurement.label,
            metric=metric.name,
            unit=metric.unit,
            confidence=self.rules.confidence,
            centre=self.rules.centre,
            valid=not not_replaced and not measurement.missing_rounds and not without_sample,
            reasons=(
                *(f"{r.trial_id} {r.status}: {'; '.join(r.reasons)}" for r in not_replaced),
                *(f"round {number} was not run" for number in measurement.missing_rounds),
                *(f"{trial} has no sample of {metric.name}" for trial in without_sample),
            ),
            trials=tuple(record.trial_id for record in records),
            excluded=tuple(record.trial_id for record in excluded),
            better=metric.better,
            primary=metric.primary,
            stop_reason=self.stop_reason,
            planned=measurement.rounds,
            **_described(
                describe(
                    values,
                    self.rules,
                    tick=metric.tick,
                    counted=counted(records, values, metric.out_of),
                )
            ),
            **_diagnosed(diagnosis),
            failed_attempts=attempts.failed,
            crashes=attempts.crashes,
            loss_ratio=None if loss is None else loss.ratio,
            loss_warning=None if loss is None else loss.warning_ratio,
            warnings=(*_beside(attempts, loss, metric), *diagnosis.warnings),
        )


def _beside(attempts: AttemptCounts, loss: Loss | None, metric: Metric) -> Iterator[str]:
    """Yield what readers must know about the trials besides their numbers: crashes, failed attempts
    and losses, in sentences."""
    made = count_text(attempts.made, "attempt")
    if attempts.crashes:
        names = ", ".join(f"{name} in {count}" for name, count in attempts.crashed.items())
        yield (
            f"Functions crashed in {attempts.crashes} of {made} at these trials "
            f"({names}); the numbers are those of the attempts without a crash."
        )
    if others := attempts.failed - attempts.crashes:
        yield f"{others} of {made} at these trials failed without a crash."
    # A metric that is a share of packets states the loss itself.
    if loss is not None and loss.is_notable and not metric.out_of:
        yield f"{loss_text(loss)}."


def _described(found: Description) -> dict[str, Any]:
    """Return a description as attributes of a Summary."""
    return {
        **{name: getattr(found, name) for name in ("n", "stdev", "min", "max")},
        "relative_half_width": found.relative_half_width,
        **_estimated(found.mean, "mean", "ci_", "method"),
        **_estimated(found.median, "median", "median_ci_", "median_method"),
        **{f"p{percent}": value for percent, value in found.percentiles.items()},
    }


def _estimated(found: Estimate, name: str, prefix: str, method: str) -> dict[str, Any]:
    """Return an estimate as attributes of a Summary. The value is the attribute `name`, the method
    of the interval the attribute `method`; the interval's other attributes begin with `prefix`."""
    interval = found.interval
    return {
        name: found.value,
        f"{prefix}low": interval.low if interval else None,
        f"{prefix}high": interval.high if interval else None,
        f"{prefix}withheld": found.withheld,
        method: interval.method if interval else "",
    }


def _diagnosed(found: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as attributes of a Summary."""
    return {
        "samples_n": found.samples_n,
        **{f"samples_p{percent}": value for percent, value in found.samples.items()},
        **_typical(found),
        "outliers": found.outliers,
        "outlier_method": found.outlier_method,
        # Summary has the attributes of Dependence under the same names.
        **asdict(found.order),
        "steady": found.within.state,
        "steady_p": found.within.p,
        "steady_after": found.within.after,
        "warmup_bias_ratio": found.within.bias_ratio,
        "steady_method": found.within.method,
    }


def _typical(found: Diagnosis) -> dict[str, Any]:
    """Return the percentiles within a typical trial as attributes of a Summary."""
    known: dict[str, Any] = {}
    for percent, estimate in found.typical.items():
        known[f"typical_p{percent}"] = estimate.value
        known[f"typical_p{percent}_ci_low"] = estimate.interval.low if estimate.interval else None
        known[f"typical_p{percent}_ci_high"] = estimate.interval.high if estimate.interval else None
    methods = sorted(
        {estimate.interval.method for estimate in found.typical.values() if estimate.interval}
    )
    why = [
        f"p{percent}: {estimate.withheld}"
        for percent, estimate in found.typical.items()
        if estimate.withheld
    ]
    return {**known, "typical_method": "; ".join(methods), "typical_ci_withheld": "; ".join(why)}


def _stop_reason(manifest: Mapping[str, Any], measurement: PlannedMeasurement) -> str:
    """Return why a scenario got no more rounds: as the manifest records it, or, for a run that
    ended before it was recorded, by the number of rounds done."""
    recorded = manifest["stopping"].get(measurement.scenario_id)
    if recorded is not None:
        return str(recorded)
    done = measurement.rounds - len(measurement.missing_rounds)
    adaptive = manifest["design"]["stop_when"] is not None
    if adaptive or measurement.missing_rounds:
        rounds = count_text(measurement.rounds, "round")
        return f"the run ended early, after {done} of {rounds}"
    return PLANNED_ROUNDS_DONE
