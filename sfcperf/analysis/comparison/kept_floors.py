"""What a machine keeps of its noise floor: sets of A/A runs (schemas/noise-floor.schema.json)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import expm1, sqrt
from statistics import fmean
from typing import Any

from sfcperf.analysis.comparison.noise_floor import FloorRecord, RunMean
from sfcperf.analysis.planned import planned_measurements
from sfcperf.analysis.statistics import t_quantile
from sfcperf.analysis.two_sample import Scale, variance
from sfcperf.errors import InputError
from sfcperf.results.records import utc_now
from sfcperf.results.schema_check import misfit
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.strict_json import loads

SCHEMA_VERSION = 1
MOST_SETS = 40
"""The oldest are dropped."""
MOST_ROWS = 1000
"""Of a set; primary metrics first."""

Setup = tuple[str, str]
"""Fingerprints of a machine and of what is measured on it."""


@dataclass(frozen=True)
class NoiseFloors:
    """All that a machine keeps. The document fits the schema, or `read_floors` refused it."""

    sets: tuple[Mapping[str, Any], ...] = field(default=())

    def of(
        self, setups: Sequence[Setup | None], scenario: Mapping[str, Any], label: str, metric: str
    ) -> FloorRecord | None:
        """Of a row of runs of these setups (`setup_of`), by the A/A runs of any of them; None
        without such runs, or if the setups are not all of one machine."""
        machines = {None if setup is None else setup[0] for setup in setups}
        if len(machines) != 1 or None in machines:
            return None
        groups: list[tuple[RunMean, ...]] = []
        runs: dict[str, None] = {}
        for floor_set in self.sets:
            if (floor_set["machine"], floor_set["workflow"]) not in setups:
                continue
            for row in floor_set["rows"]:
                if (row["scenario"], row["label"], row["metric"]) == (scenario, label, metric):
                    groups.append(tuple(RunMean(**c) for c in row["runs"]))
                    runs |= dict.fromkeys(run["run_id"] for run in floor_set["runs"])
        return FloorRecord(tuple(groups), tuple(runs)) if groups else None

    def with_runs(self, stores: Sequence[RunStore]) -> NoiseFloors:
        """With the A/A runs as a new set, instead of a set of some of them. Raises InputError if
        they are not runs of one workflow on one machine, or have nothing to tell."""
        new = _set_of(stores)
        ids = {run["run_id"] for run in new["runs"]}
        others = [
            floor_set
            for floor_set in self.sets
            if not ids & {run["run_id"] for run in floor_set["runs"]}
        ]
        return NoiseFloors((*others, new)[-MOST_SETS:])

    def document(self) -> dict[str, Any]:
        """For the file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "sets": [dict(floor_set) for floor_set in self.sets],
        }


@dataclass(frozen=True)
class FloorRow:
    """How A/A runs differ in one row."""

    scenario: Mapping[str, Any]
    label: str
    metric: str
    unit: str
    runs: int
    mean: float
    """Of the runs, in the unit."""
    ratios: bool
    """Whether the next two are ratios; otherwise they are in the unit."""
    between: float
    """Standard deviation of the runs' means."""
    limit: float
    """Two runs of so many trials differ by less, with the confidence."""
    confidence: float


def floor_rows(stores: Sequence[RunStore], confidence: float = 0.95) -> list[FloorRow]:
    """Of runs of one setup. Raises InputError like `NoiseFloors.with_runs`."""
    return [_floor_row(row, confidence) for row in _set_of(stores)["rows"]]


def _floor_row(row: Mapping[str, Any], confidence: float) -> FloorRow:
    means = [run["mean"] for run in row["runs"]]
    ratios = all(value > 0 for value in means)
    spread = sqrt(variance(Scale(ratios, 0.0).of(means)))
    half = t_quantile(len(means) - 1, confidence) * spread * sqrt(2)
    return FloorRow(
        row["scenario"],
        row["label"],
        row["metric"],
        row["unit"],
        len(means),
        fmean(means),
        ratios,
        spread,
        expm1(half) if ratios else half,
        confidence,
    )


def read_floors(text: str, where: str) -> NoiseFloors:
    """From the text of the file. Raises InputError if it is damaged."""
    hint = "remove the file: the next `sfcperf run --repeat` writes it again"
    try:
        document = loads(text, bounded=True)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "the noise floor of this machine is damaged", where=where, hint=hint
        ) from error
    wrong = misfit("noise-floor", document)
    if wrong is not None:
        pointer, message = wrong
        raise InputError(
            f"the noise floor of this machine is damaged: {message}",
            where=f"{where}#{pointer}",
            hint=hint,
        )
    return NoiseFloors(tuple(document["sets"]))


def setup_of(store: RunStore) -> Setup | None:
    """Runs with the same ones are A/A runs, unless somebody changed what no manifest tells. None
    where plan or workflow cannot be read."""
    try:
        resolved, (document, _) = store.resolved(), store.workflow()
    except InputError:
        return None
    return _machine(store.manifest()), _digest([document.get("infrastructure"), resolved])


def _machine(manifest: Mapping[str, Any]) -> str:
    """Its hardware: another kernel on it is a treatment, not another machine."""
    host = manifest["host"]
    cpu, hypervisor = host["cpu"], host["hypervisor"]
    gib = round(host["memory"]["total_bytes"] / 2**30)
    return _digest(
        [
            [cpu[name] for name in ("model", "architecture", "logical", "physical")],
            [hypervisor[name] for name in ("present", "type", "vendor", "product")],
            gib,
        ]
    )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _set_of(stores: Sequence[RunStore]) -> dict[str, Any]:
    setups = {store.run_id: setup_of(store) for store in stores}
    first, *others = setups.items()
    for run_id, setup in (first, *others):
        if setup is None:
            raise InputError("this run has no plan: it cannot tell what was measured", where=run_id)
        for place, what in enumerate(("machine", "workflow")):
            if first[1] is not None and setup[place] != first[1][place]:
                raise InputError(
                    f"this is a run of another {what} than {first[0]}: not an A/A run", where=run_id
                )
    assert first[1] is not None
    rows = list(_rows(stores))
    if not rows:
        raise InputError(
            "an A/A comparison needs at least two runs with valid trials", where=first[0]
        )
    return {
        "machine": first[1][0],
        "workflow": first[1][1],
        "name": stores[0].manifest()["name"],
        "kept_at": utc_now(),
        "runs": [
            {"run_id": store.run_id, "started_at": store.manifest()["started_at"]}
            for store in stores
        ],
        "rows": [row for row, _ in rows[:MOST_ROWS]],
        "rows_left_out": max(0, len(rows) - MOST_ROWS),
    }


def _rows(stores: Sequence[RunStore]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Each with whether it is primary, these first; only those that two runs measured."""
    found: dict[str, tuple[dict[str, Any], bool]] = {}
    for store in stores:
        for measurement in planned_measurements(store.manifest(), store.trials()):
            means = [
                trial_means(record) for record in measurement.trials if record.status == "valid"
            ]
            for metric in measurement.metrics:
                values = [m[metric.name] for m in means if metric.name in m]
                if not values:
                    continue
                row = {
                    "scenario": dict(measurement.scenario),
                    "label": measurement.label,
                    "metric": metric.name,
                }
                key = json.dumps(row, sort_keys=True)
                entry = found.setdefault(
                    key, ({**row, "unit": metric.unit, "runs": []}, metric.primary)
                )
                entry[0]["runs"].append(
                    {
                        "n": len(values),
                        "mean": fmean(values),
                        "sd": sqrt(variance(values)) if len(values) > 1 else 0.0,
                    }
                )
    known = [item for item in found.values() if len(item[0]["runs"]) > 1]
    yield from sorted(known, key=lambda item: not item[1])
