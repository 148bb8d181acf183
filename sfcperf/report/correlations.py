"""The report's section on correlations, from correlations.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfcperf.results.store import RunStore


@dataclass(frozen=True)
class CorrelationRow:
    """A metric with a series: over all trials, and within scenarios."""

    metric: str
    series: str
    coefficient: str
    n: int
    overall: str
    within: str


@dataclass(frozen=True)
class Correlations:
    """What the section shows."""

    rows: Sequence[CorrelationRow]
    notes: Sequence[str]
    confidence: str
    aggregate: str
    left_out: int
    """Trials and series that do not count: the series covers too little."""


def correlations(run: RunStore) -> Correlations | None:
    """None when the run's workflow asked for none."""
    document = run.correlations()
    if document is None:
        return None
    within = {_key(row): row for row in _of(document, "within scenarios")}
    return Correlations(
        rows=[
            CorrelationRow(
                metric=f"{row['label']} {row['metric']}",
                series=f"{row['source']} {row['series']}",
                coefficient=str(row["coefficient"]).capitalize(),
                n=row["n"],
                overall=_words(row),
                within=_words(within[_key(row)]) if _key(row) in within else "one scenario only",
            )
            for row in _of(document, "all trials")
        ],
        notes=document["notes"],
        confidence=f"{100 * document['confidence']:g} %",
        aggregate=document["aggregate"],
        left_out=len(document["little_covered"]),
    )


def _of(document: Mapping[str, Any], scope: str) -> list[Mapping[str, Any]]:
    return [row for row in document["correlations"] if row["scope"] == scope]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("label", "metric", "source", "series", "coefficient"))


def _words(row: Mapping[str, Any]) -> str:
    if row["r"] is None:
        return str(row["reason"])
    p = row["p_holm"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{row['r']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}], {shown}"
