"""What a run meant to measure: scenarios, probes, their metrics and rounds.

Read from the manifest (the control module copies there what the plug-ins declare) and completed
by the trials themselves, so that a run folder is understood where its plug-ins are not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfcperf.results.records import TrialRecord
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class PlannedMeasurement:
    """One probe in one scenario: the trials of all rounds."""

    scenario_id: str
    scenario: Mapping[str, Any]
    probe: str
    label: str
    metrics: tuple[Metric, ...]
    """Declared by the probe, then those that only samples name."""
    rounds: int
    """Rounds that were to be run: the planned minimum, or more if the scenario got more."""
    trials: tuple[TrialRecord, ...]
    """Finished ones, by round."""

    @cached_property
    def missing_rounds(self) -> tuple[int, ...]:
        """Rounds without a finished trial."""
        done = {record.round for record in self.trials}
        return tuple(number for number in range(1, self.rounds + 1) if number not in done)

    @cached_property
    def excluded(self) -> tuple[TrialRecord, ...]:
        """Trials that do not count: failed, untrusted, or measured again."""
        return tuple(record for record in self.trials if record.status != "valid")

    @cached_property
    def spoiling(self) -> tuple[TrialRecord, ...]:
        """Those of the excluded whose round has no trial that counts: what was measured again,
        and well, is not missing from the results."""
        good = {record.round for record in self.trials if record.status == "valid"}
        return tuple(record for record in self.excluded if record.round not in good)


def planned_measurements(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord]
) -> list[PlannedMeasurement]:
    """In the order of the plan: scenarios as expanded, probes as in the workflow."""
    scenarios = _scenarios(manifest, trials)
    probes = _probes(manifest, trials)
    declared = _declared_metrics(manifest)
    finished: dict[tuple[str, str], list[TrialRecord]] = {key: [] for key in declared}
    rounds = dict.fromkeys(scenarios, int(manifest.get("design", {}).get("rounds", 0)))
    for record in sorted(trials, key=lambda r: (r.round, r.started_at)):
        finished.setdefault((record.scenario_id, record.label), []).append(record)
        rounds[record.scenario_id] = max(rounds[record.scenario_id], record.round)
    places = {name: place for place, name in enumerate([*scenarios, *probes])}
    return [
        PlannedMeasurement(
            scenario_id=scenario_id,
            scenario=scenarios[scenario_id],
            probe=probes[label],
            label=label,
            metrics=_metrics(declared.get((scenario_id, label), ()), records),
            rounds=rounds[scenario_id],
            trials=tuple(records),
        )
        for (scenario_id, label), records in sorted(
            finished.items(), key=lambda item: [places[name] for name in item[0]]
        )
    ]


def _scenarios(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord]
) -> dict[str, Mapping[str, Any]]:
    """Scenario id -> levels."""
    planned = {entry["id"]: entry["levels"] for entry in manifest.get("scenarios", [])}
    found = {r.scenario_id: r.scenario for r in sorted(trials, key=lambda r: r.scenario_id)}
    return {**planned, **found}


def _probes(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Label -> name of the probe plug-in."""
    declared = {entry["label"]: entry["probe"] for entry in manifest.get("probes", [])}
    return {**declared, **{record.label: record.probe for record in trials}}


def _declared_metrics(manifest: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Metric, ...]]:
    """(Scenario id, label) -> metrics."""
    return {
        (scenario_id, entry["label"]): tuple(Metric(**metric) for metric in entry["metrics"])
        for entry in manifest.get("probes", [])
        for scenario_id in entry["scenarios"]
    }


def _metrics(declared: Sequence[Metric], trials: Sequence[TrialRecord]) -> tuple[Metric, ...]:
    known = {metric.name: metric for metric in declared}
    for record in trials:
        for sample in record.samples:
            name = sample["metric"]
            if name not in known:
                known[name] = Metric(name, sample["unit"], "not declared by the probe")
    return tuple(known.values())
