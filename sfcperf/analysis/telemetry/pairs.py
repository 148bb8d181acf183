"""Pairs of a probe's metric and a telemetry series, with one point per valid trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from sfcperf.analysis.telemetry.joined import joined
from sfcperf.results.store import RunStore


@dataclass
class Pair:
    """Points of a pair, in the order of trials.jsonl."""

    label: str
    metric: str
    unit: str
    source: str
    series: str
    series_unit: str
    scenarios: list[str] = field(default_factory=list)
    """Scenario ids of the trials."""
    metric_values: list[float] = field(default_factory=list)
    """Mean of the metric's samples in each trial, in `unit`."""
    series_values: list[float] = field(default_factory=list)
    """Mean of the series during each trial, in `series_unit`."""


@dataclass(frozen=True)
class Selection:
    """Selects pairs."""

    metrics: Mapping[str, Sequence[str]]
    """Probe label -> its metrics."""
    series: Sequence[str]
    sources: Sequence[str]
    """Patterns with `*` and `?`."""
    min_coverage: float


@dataclass(frozen=True)
class Pairs:
    """Pairs by label, metric, source and series, and the trials that they leave out."""

    pairs: tuple[Pair, ...]
    little_covered: tuple[str, ...]
    """Trials of which a selected series covers too little, with its source and name."""


def find_pairs(store: RunStore, selection: Selection) -> Pairs:
    """Points of all selected pairs. Raises InputError if the run is damaged."""
    import pyarrow.compute as compute

    pairs: dict[tuple[str, ...], Pair] = {}
    little: dict[str, None] = {}
    with joined(store, selection.series) as batches:
        for batch in batches:
            chosen = batch.filter(
                compute.and_(
                    compute.equal(batch["status"], "valid"), compute.is_valid(batch["series"])
                )
            )
            for row in chosen.to_pylist():
                if not _is_selected(row, selection) or row["mean"] is None:
                    continue
                if row["coverage"] is not None and row["coverage"] < selection.min_coverage:
                    little[f"{row['trial_id']}: {row['source']} {row['series']}"] = None
                    continue
                _add(pairs, row)
    return Pairs(tuple(pairs[key] for key in sorted(pairs)), tuple(little))


def _is_selected(row: Mapping[str, Any], selection: Selection) -> bool:
    return row["metric"] in selection.metrics.get(row["label"], ()) and any(
        fnmatchcase(row["source"], pattern) for pattern in selection.sources
    )


def _add(pairs: dict[tuple[str, ...], Pair], row: Mapping[str, Any]) -> None:
    names = ("label", "metric", "unit", "source", "series", "series_unit")
    key = tuple(row[name] for name in names)
    pair = pairs.setdefault(key, Pair(*key))
    pair.scenarios.append(row["scenario_id"])
    pair.metric_values.append(row["value"])
    pair.series_values.append(row["mean"])
