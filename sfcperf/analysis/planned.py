"""The plan of a run: scenarios, probes, their metrics, rounds, and the confidence of intervals.

It is read from the manifest, to which the control module copies what the plug-ins declare, and
completed by the trials. A run folder can thus be analysed where its plug-ins are not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfcperf.analysis.statistics import Rules
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.values import Metric
from sfcperf.workflow.model import Design


@dataclass(frozen=True)
class PlannedMeasurement:
    """One probe in one scenario: the trials of all rounds."""

    scenario_id: str
    scenario: Mapping[str, Any]
    """Factor -> level."""
    probe: str
    """Name of the probe's plug-in."""
    label: str
    """Label of the probe, unique in the workflow."""
    metrics: tuple[Metric, ...]
    """Metrics that the probe declares, then those that only samples name."""
    rounds: int
    """Number of planned rounds, or the highest round of a trial if that is larger."""
    trials: tuple[TrialRecord, ...]
    """Finished trials, by round."""

    @cached_property
    def missing_rounds(self) -> tuple[int, ...]:
        """Numbers of the rounds without a finished trial."""
        done = {record.round for record in self.trials}
        return tuple(number for number in range(1, self.rounds + 1) if number not in done)

    @cached_property
    def excluded(self) -> tuple[TrialRecord, ...]:
        """Trials that do not count: failed, untrusted, or replaced by a rerun."""
        return tuple(record for record in self.trials if record.status != "valid")

    @cached_property
    def not_replaced(self) -> tuple[TrialRecord, ...]:
        """Excluded trials of rounds that have no valid trial."""
        good = {record.round for record in self.trials if record.status == "valid"}
        return tuple(record for record in self.excluded if record.round not in good)


def planned_measurements(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord]
) -> list[PlannedMeasurement]:
    """Group the trials of a run by scenario and probe, in the order of the plan: scenarios as
    expanded, probes as in the workflow. Raises InputError if a sample has another unit than its
    metric, or if the manifest names an unknown scenario."""
    scenarios = _scenarios(manifest, trials)
    probes = _probes(manifest, trials)
    declared = _declared_metrics(manifest)
    for scenario_id, label in declared:
        if scenario_id not in scenarios:
            raise InputError(
                f"the run folder is damaged: there is no scenario {scenario_id!r}",
                where=f"run.json#/probes, {label}",
            )
    finished: dict[tuple[str, str], list[TrialRecord]] = {key: [] for key in declared}
    rounds = dict.fromkeys(scenarios, manifest["design"]["rounds"])
    for record in sorted(trials, key=lambda r: (r.round, r.started_at)):
        finished.setdefault((record.scenario_id, record.label), []).append(record)
        rounds[record.scenario_id] = max(rounds[record.scenario_id], record.round)
    # Place of each scenario id, and of each label, in the order of the plan: in maps of their own,
    # as a label may be `s000`.
    places = [{name: n for n, name in enumerate(names)} for names in (scenarios, probes)]
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
            finished.items(),
            key=lambda item: [of[name] for of, name in zip(places, item[0], strict=True)],
        )
    ]


def rules_of(store: RunStore) -> Rules:
    """Return what the run declared about its confidence intervals before its first trial."""
    design = store.manifest()["design"]
    options = {name: design[name] for name in ("confidence", "centre", "rarest_mode")}
    return Rules(**options, first_look=first_look_in(design))


def rules_for(design: Design) -> Rules:
    """Return what a run of this design will declare: as `rules_of`, before there is a run."""
    stop = design.stop_when
    look = None if stop is None else first_look(design.rounds, stop.max_rounds)
    return Rules(design.confidence, design.centre, design.rarest_mode, look)


def first_look_in(design: Mapping[str, Any]) -> int | None:
    """Return the number of rounds after which sequential stopping first looked at the results; None
    for a fixed number of rounds, or if there was only one look. `design`: as in run.json."""
    stop_when = design["stop_when"]
    return None if stop_when is None else first_look(design["rounds"], stop_when["max_rounds"])


def first_look(rounds: int, max_rounds: int) -> int | None:
    """Return the number of rounds before the first look at the results, which are the planned
    `rounds`. None if no round may follow them: a single look needs no correction for repeated
    looks."""
    return rounds if max_rounds > rounds else None


def _scenarios(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord]
) -> dict[str, Mapping[str, Any]]:
    """Map scenario id -> its levels: planned scenarios first, then those that only trials name, in
    the order of ids."""
    planned = {entry["id"]: entry["levels"] for entry in manifest["scenarios"]}
    measured = {r.scenario_id: r.scenario for r in sorted(trials, key=lambda r: r.scenario_id)}
    return {**planned, **measured}


def _probes(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Map the label of each probe to the name of its plug-in."""
    declared = {entry["label"]: entry["probe"] for entry in manifest["probes"]}
    return {**declared, **{record.label: record.probe for record in trials}}


def _declared_metrics(manifest: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Metric, ...]]:
    """Map (scenario id, label of the probe) to the metrics that the probe declares."""
    return {
        (scenario_id, entry["label"]): tuple(Metric(**metric) for metric in entry["metrics"])
        for entry in manifest["probes"]
        for scenario_id in entry["scenarios"]
    }


def _metrics(declared: Sequence[Metric], trials: Sequence[TrialRecord]) -> tuple[Metric, ...]:
    """Return the declared metrics, then those that only samples of these trials name. Raises
    InputError if a sample has another unit than its metric."""
    known = {metric.name: metric for metric in declared}
    for record in trials:
        for sample in record.samples:
            name, unit = sample["metric"], sample["unit"]
            metric = known.setdefault(name, Metric(name, unit, "not declared by the probe"))
            if unit != metric.unit:
                raise InputError(
                    f"a sample of {name} is in {unit}, and others are in {metric.unit}",
                    where=record.trial_id,
                    hint="numbers in different units cannot be averaged",
                )
    return tuple(known.values())
