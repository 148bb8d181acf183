"""The report's table of telemetry that is not steady within the trials, from steady.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.figures.plot import scenario_text
from sfcperf.results.store import RunStore


@dataclass(frozen=True)
class UnsteadyRow:
    """A series that has a warm-up, or never becomes steady."""

    scenario: str
    probe: str
    series: str
    found: str
    p: str


@dataclass(frozen=True)
class Unsteady:
    """What the table shows."""

    rows: Sequence[UnsteadyRow]
    judged: int
    """Series with observations enough."""
    not_judged: int
    notes: Sequence[str]


def unsteady(run: RunStore) -> Unsteady | None:
    """None when the run's workflow asked for none."""
    document = run.steady()
    if document is None:
        return None
    judged = [row for row in document["series"] if row["steady"]]
    return Unsteady(
        rows=[_row(row) for row in judged if row["steady"] != "steady"],
        judged=len(judged),
        not_judged=len(document["series"]) - len(judged),
        notes=document["notes"],
    )


def _row(row: Mapping[str, Any]) -> UnsteadyRow:
    return UnsteadyRow(
        scenario=scenario_text(row["scenario"]) or "the scenario",
        probe=row["label"],
        series=f"{row['source']} {row['series']}",
        found=f"{_found(row)} ({row['method']})",
        p="" if row["p"] is None else f"{row['p']:.2g}",
    )


def _found(row: Mapping[str, Any]) -> str:
    if row["steady"] == "never":
        return "never steady"
    bias = "" if row["bias_ratio"] is None else f", changes the mean by {row['bias_ratio']:+.1%}"
    return f"warm-up of {row['after_s']:.3g} s{bias}"
