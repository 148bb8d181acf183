"""The sides of a comparison: a run, or one variant of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfcperf.analysis.comparison.result import SideFacts
from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore

VARIANT = "variant"
"""Name of the factor whose levels are the variants of an interleaved run."""


@dataclass(frozen=True)
class Side:
    """A run, or one variant of it."""

    name: str
    """A run id or the name of a variant, unique in the comparison."""
    store: RunStore
    variant: str | None = None
    """Only trials whose scenario has this `variant`, which is then left out of the scenario."""


@dataclass(frozen=True)
class Measured:
    """A side with its results."""

    side: Side
    facts: SideFacts
    manifest: Mapping[str, Any]
    measurements: tuple[PlannedMeasurement, ...]
    """Of this side alone; without the factor `variant` if the side is one."""

    @property
    def name(self) -> str:
        """Name of the side."""
        return self.side.name

    def is_same_run(self, other: Measured) -> bool:
        """Whether both are variants of one run."""
        return self.side.store.folder.resolve() == other.side.store.folder.resolve()

    def levels_of(self, factor: str) -> list[Any]:
        """Levels of a factor, each once; empty if no scenario has it."""
        found = [m.scenario[factor] for m in self.measurements if factor in m.scenario]
        return [level for i, level in enumerate(found) if level not in found[:i]]


def variants_of(manifest: Mapping[str, Any]) -> list[str]:
    """Names of a run's variants, in the order of the workflow."""
    return [str(variant["name"]) for variant in manifest.get("variants") or ()]


def read_side(side: Side) -> Measured:
    """Read a side. Raises InputError if the run folder is damaged or has no such variant."""
    manifest, trials = side.store.manifest(), side.store.trials()
    if side.variant is not None:
        known = variants_of(manifest)
        if side.variant not in known:
            raise InputError(
                f"the run has no variant {side.variant!r}",
                where=side.store.run_id,
                allowed=", ".join(known) or "none: the run has no variants",
            )
        trials = [r for r in trials if r.scenario.get(VARIANT) == side.variant]
    measurements = planned_measurements(manifest, trials)
    if side.variant is not None:
        measurements = [
            replace(m, scenario={k: v for k, v in m.scenario.items() if k != VARIANT})
            for m in measurements
            if m.scenario.get(VARIANT) == side.variant
        ]
    facts = SideFacts(
        name=side.name,
        run_id=side.store.run_id,
        variant=side.variant,
        workflow=manifest["name"],
        started_at=manifest["started_at"],
        status=manifest["status"],
        trials=dict(Counter(record.status for record in trials)),
    )
    return Measured(side, facts, manifest, tuple(measurements))
