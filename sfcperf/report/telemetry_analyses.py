"""What analyses found in telemetry: correlations with metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.results.store import RunFile, RunStore


def correlations(run: RunStore) -> Mapping[str, Any] | None:
    """Return correlations.json with `rows` for the report's table: metric, series, kind of
    coefficient, number of trials, coefficient over all trials, coefficient within scenarios. None
    when the workflow did not ask for this analysis."""
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


def _of_scope(document: Mapping[str, Any], scope: str) -> list[Mapping[str, Any]]:
    return [row for row in document["correlations"] if row["scope"] == scope]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a coefficient over all trials and the one within scenarios have in common."""
    return tuple(row[name] for name in ("label", "metric", "source", "series", "coefficient"))


def _coefficient_text(row: Mapping[str, Any]) -> str:
    """Return a coefficient with interval and p-value, or why there is none."""
    if row["r"] is None:
        return str(row["reason"])
    p = row["p_holm"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{row['r']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}], {shown}"
