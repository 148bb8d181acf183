"""What a machine keeps of its noise floor: sets of A/A runs, which are runs of the same thing
(schemas/noise-floor.schema.json)."""

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
"""Sets that are kept; the oldest are dropped."""
MOST_ROWS = 1000
"""Rows that are kept of a set, those of primary metrics first."""

Setup = tuple[str, str]
"""Fingerprint of a machine, and fingerprint of what is measured on it."""


@dataclass(frozen=True)
class NoiseFloors:
    """All sets of A/A runs that a machine keeps. They fit the schema: `read_floors` refuses others,
    so nothing here checks them again."""

    sets: tuple[Mapping[str, Any], ...] = field(default=())

    def of(
        self, setups: Sequence[Setup | None], scenario: Mapping[str, Any], label: str, metric: str
    ) -> FloorRecord | None:
        """Return how A/A runs of any of these setups (`setup_of`) differ in one metric. `setups`
        are those of the sides of a comparison. None without such runs, if a setup is unknown, or if
        the setups are not all of one machine."""
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
        """Return these floors with the A/A runs as a new set, which replaces any set that has one
        of the runs. Raises InputError if they are not runs of one workflow on one machine, or if no
        metric has valid trials in two of them."""
        new = _set_of(stores)
        ids = {run["run_id"] for run in new["runs"]}
        others = [
            floor_set
            for floor_set in self.sets
            if not ids & {run["run_id"] for run in floor_set["runs"]}
        ]
        return NoiseFloors((*others, new)[-MOST_SETS:])

    def document(self) -> dict[str, Any]:
        """Return the JSON document of the file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "sets": [dict(floor_set) for floor_set in self.sets],
        }


@dataclass(frozen=True)
class FloorRow:
    """How A/A runs differ in one metric of one scenario."""

    scenario: Mapping[str, Any]
    label: str
    """Label of the probe."""
    metric: str
    unit: str
    runs: int
    """Number of runs."""
    mean: float
    """Mean of the means of runs, in the unit."""
    ratios: bool
    """Whether `between` and `limit` are ratios; otherwise they are in the unit."""
    between: float
    """Standard deviation of the means of runs."""
    limit: float
    """With the confidence, two runs with as many trials as these differ by less."""
    confidence: float


def floor_rows(stores: Sequence[RunStore], confidence: float = 0.95) -> list[FloorRow]:
    """Describe how the A/A runs `stores` differ, in a row per metric and scenario. Raises
    InputError like `NoiseFloors.with_runs`."""
    return [_floor_row(row, confidence) for row in _set_of(stores)["rows"]]


def _floor_row(row: Mapping[str, Any], confidence: float) -> FloorRow:
    """Describe one row of a set. The limit is Student's t times the standard error of a difference
    of two runs, hence sqrt(2); on the scale of the logarithm where all means are positive."""
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
    """Read the floors from the text of the file `where`. Raises InputError if it is damaged."""
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
    """Return the fingerprints of a run. Runs with equal fingerprints are A/A runs, unless somebody
    changed what no manifest records. None if the plan or the workflow cannot be read."""
    try:
        resolved, (document, _) = store.resolved(), store.workflow()
    except InputError:
        return None
    return _machine(store.manifest()), _digest([document.get("infrastructure"), resolved])


def _machine(manifest: Mapping[str, Any]) -> str:
    """Return the fingerprint of a machine, which is that of its hardware: a new kernel may be what
    is being compared, and does not make another machine."""
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
    """Return a fingerprint of a JSON value, 32 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _set_of(stores: Sequence[RunStore]) -> dict[str, Any]:
    """Make the set of these A/A runs, as the file has it. Raises InputError if they are not A/A
    runs, or no metric has valid trials in two of them."""
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
    """Yield the rows of a set, each with whether its metric is primary; rows of primary metrics
    come first. A row needs two runs that measured it."""
    by_key: dict[str, tuple[dict[str, Any], bool]] = {}
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
                entry = by_key.setdefault(
                    key, ({**row, "unit": metric.unit, "runs": []}, metric.primary)
                )
                entry[0]["runs"].append(
                    {
                        "n": len(values),
                        "mean": fmean(values),
                        "sd": sqrt(variance(values)) if len(values) > 1 else 0.0,
                    }
                )
    repeated = [item for item in by_key.values() if len(item[0]["runs"]) > 1]
    yield from sorted(repeated, key=lambda item: not item[1])
