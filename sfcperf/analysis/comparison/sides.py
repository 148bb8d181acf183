"""The sides of a comparison: runs of the same thing, or one variant in such runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sfcperf.analysis.comparison.result import RunFacts, SideFacts
from sfcperf.analysis.planned import PlannedMeasurement, planned_measurements
from sfcperf.errors import InputError
from sfcperf.results.attempts import attempt_counts, together
from sfcperf.results.store import RunStore

VARIANT = "variant"
"""Name of the factor whose levels are the variants of an interleaved run."""


@dataclass(frozen=True)
class Side:
    """A run, or several runs of the same thing; or one variant in them."""

    name: str
    """A run id, a campaign or the name of a variant, unique in the comparison."""
    store: RunStore
    """The first run."""
    variant: str | None = None
    """Name of a variant: only its trials are of this side. None: all trials are."""
    more: tuple[RunStore, ...] = ()
    """Further runs of the same thing."""
    labelled: bool = False
    """Whether the user chose the name."""

    @property
    def stores(self) -> tuple[RunStore, ...]:
        """Folders of all runs."""
        return (self.store, *self.more)


@dataclass(frozen=True)
class RunMeasurement(PlannedMeasurement):
    """One probe in one scenario of one of a side's runs."""

    run: int
    """Number of the run in its side, from 0."""


@dataclass(frozen=True)
class MeasuredSide:
    """A side with its results, which `read_side` reads."""

    side: Side
    facts: SideFacts
    manifests: tuple[Mapping[str, Any], ...]
    """Manifest of each run."""
    measurements: tuple[RunMeasurement, ...]
    """Measurements by run. If the side is a variant, only its own, and their scenarios lack the
    factor `variant`."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Manifest of the first run."""
        return self.manifests[0]

    @property
    def name(self) -> str:
        """Name of the side."""
        return self.side.name

    def is_same_run(self, other: MeasuredSide) -> bool:
        """Whether both are variants of the same runs."""
        return self._folders() == other._folders()

    def _folders(self) -> list[Path]:
        return [store.folder.resolve() for store in self.side.stores]

    def levels_of(self, factor: str) -> list[Any]:
        """List the levels of a factor, each once; empty if no scenario has it."""
        found = [m.scenario[factor] for m in self.measurements if factor in m.scenario]
        return [level for i, level in enumerate(found) if level not in found[:i]]


def variants_of(manifest: Mapping[str, Any]) -> list[str]:
    """List the names of a run's variants, in the order of the workflow."""
    return [str(variant["name"]) for variant in manifest.get("variants") or ()]


def read_side(side: Side) -> MeasuredSide:
    """Read all runs of a side. Raises InputError if a run folder is damaged or has no such
    variant."""
    manifests, runs, measurements = [], [], []
    for number, store in enumerate(side.stores):
        manifest, run, found = _read_run(store, side.variant)
        manifests.append(manifest)
        runs.append(run)
        measurements += [_of_run(planned, number) for planned in found]
    first = runs[0]
    facts = SideFacts(
        name=side.name,
        run_id=first.run_id,
        variant=side.variant,
        workflow=manifests[0]["name"],
        started_at=first.started_at,
        status=next((run.status for run in runs if run.status != "complete"), "complete"),
        trials=dict(sum((Counter(run.trials) for run in runs), Counter())),
        runs=tuple(runs),
        labelled=side.labelled,
        attempts=together(run.attempts for run in runs),
    )
    return MeasuredSide(side, facts, tuple(manifests), tuple(measurements))


def _read_run(
    store: RunStore, variant: str | None
) -> tuple[Mapping[str, Any], RunFacts, list[PlannedMeasurement]]:
    """Read a run: its manifest, facts and measurements. Of a `variant` only its own trials are
    read, and their scenarios lack the factor `variant`, so that variants of a run match each
    other."""
    manifest, trials, warmups = store.manifest(), store.trials(), store.warmups()
    if variant is not None:
        known = variants_of(manifest)
        if variant not in known:
            raise InputError(
                f"the run has no variant {variant!r}",
                where=store.run_id,
                allowed=", ".join(known) or "none: the run has no variants",
            )
        trials, warmups = (
            [r for r in records if r.scenario.get(VARIANT) == variant]
            for records in (trials, warmups)
        )
    measurements = planned_measurements(manifest, trials)
    if variant is not None:
        measurements = [
            replace(m, scenario={k: v for k, v in m.scenario.items() if k != VARIANT})
            for m in measurements
            if m.scenario.get(VARIANT) == variant
        ]
    counts: dict[str, int] = dict(Counter(record.status for record in trials))
    attempts = attempt_counts([*warmups, *trials])
    facts = RunFacts(store.run_id, manifest["started_at"], manifest["status"], counts, attempts)
    return manifest, facts, measurements


def _of_run(planned: PlannedMeasurement, run: int) -> RunMeasurement:
    """Return a measurement with the number of its run in the side, from 0."""
    return RunMeasurement(**{f.name: getattr(planned, f.name) for f in fields(planned)}, run=run)
