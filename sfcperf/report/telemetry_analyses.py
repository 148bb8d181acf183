"""What analyses found in telemetry: correlations with metrics (correlations.json), and whether it
is steady within the trials (steady.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.presentation.levels import scenario_name
from sfcperf.results.store import RunFile, RunStore


@dataclass(frozen=True)
class Correlations:
    """Correlations of metrics with telemetry."""

    rows: Sequence[tuple[str, ...]]
    """Metric, series, coefficient, trials, over all trials, within scenarios."""
    notes: Sequence[str]
    confidence: str
    aggregate: str
    left_out: int
    """Trials and series that do not count: the series covers too little of the trial."""


def correlations(run: RunStore) -> Correlations | None:
    """None when the workflow did not ask for this analysis."""
    document = run.document(RunFile.CORRELATIONS)
    if document is None:
        return None
    within = {_key(row): _coefficient_text(row) for row in _of_scope(document, "within scenarios")}
    return Correlations(
        rows=[
            (
                f"{row['label']} {row['metric']}",
                f"{row['source']} {row['series']}",
                str(row["coefficient"]).capitalize(),
                str(row["n"]),
                _coefficient_text(row),
                within.get(_key(row), "one scenario only"),
            )
            for row in _of_scope(document, "all trials")
        ],
        notes=document["notes"],
        confidence=f"{100 * document['confidence']:g} %",
        aggregate=document["aggregate"],
        left_out=len(document["little_covered"]),
    )


@dataclass(frozen=True)
class Unsteady:
    """Telemetry that is not steady within the trials."""

    rows: Sequence[tuple[str, ...]]
    """Series, probe, scenario, finding, p, where there is a warm-up or no steady state."""
    judged: int
    """Series with enough observations."""
    not_judged: int
    notes: Sequence[str]


def unsteady(run: RunStore) -> Unsteady | None:
    """None when the workflow did not ask for this analysis."""
    document = run.document(RunFile.STEADY)
    if document is None:
        return None
    judged = [row for row in document["series"] if row["steady"]]
    return Unsteady(
        rows=[_unsteady_row(row) for row in judged if row["steady"] != "steady"],
        judged=len(judged),
        not_judged=len(document["series"]) - len(judged),
        notes=document["notes"],
    )


def _unsteady_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['source']} {row['series']}",
        row["label"],
        scenario_name(row["scenario"]),
        f"{_finding(row)} ({row['method']})",
        "" if row["p"] is None else f"{row['p']:.2g}",
    )


def _finding(row: Mapping[str, Any]) -> str:
    if row["steady"] == "never":
        return "never steady"
    bias = "" if row["bias_ratio"] is None else f", changes the mean by {row['bias_ratio']:+.1%}"
    return f"warm-up of {row['after_s']:.3g} s{bias}"


def _of_scope(document: Mapping[str, Any], scope: str) -> list[Mapping[str, Any]]:
    return [row for row in document["correlations"] if row["scope"] == scope]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("label", "metric", "source", "series", "coefficient"))


def _coefficient_text(row: Mapping[str, Any]) -> str:
    if row["r"] is None:
        return str(row["reason"])
    p = row["p_holm"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{row['r']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}], {shown}"
