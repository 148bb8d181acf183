"""What analyses found in telemetry: correlations with metrics, steadiness within the trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.presentation.levels import scenario_name
from sfcperf.results.store import RunFile, RunStore


def correlations(run: RunStore) -> Mapping[str, Any] | None:
    """correlations.json with `rows`: metric, series, coefficient, trials, over all trials, within
    scenarios. None when the workflow did not ask for this analysis."""
    document = run.document(RunFile.CORRELATIONS)
    if document is None:
        return None
    within = {_key(row): _coefficient_text(row) for row in _of_scope(document, "within scenarios")}
    rows = [
        (
            f"{row['label']} {row['metric']}",
            f"{row['source']} {row['series']}",
            str(row["coefficient"]).capitalize(),
            str(row["n"]),
            _coefficient_text(row),
            within.get(_key(row), "one scenario only"),
        )
        for row in _of_scope(document, "all trials")
    ]
    return {**document, "rows": rows}


def unsteady(run: RunStore) -> Mapping[str, Any] | None:
    """steady.json with `judged`, the number of series with enough observations, and `rows`, those
    that are not steady: series, probe, scenario, finding, p. None when the workflow did not ask for
    this analysis."""
    document = run.document(RunFile.STEADY)
    if document is None:
        return None
    judged = [row for row in document["series"] if row["steady"]]
    rows = [_unsteady_row(row) for row in judged if row["steady"] != "steady"]
    return {**document, "judged": len(judged), "rows": rows}


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
