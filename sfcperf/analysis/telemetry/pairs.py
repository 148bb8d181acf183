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
    """A metric of a probe and a telemetry series, with a point per trial, in the order of
    trials.jsonl."""

    label: str
    metric: str
    unit: str
    source: str
    series: str
    series_unit: str
    scenarios: list[str] = field(default_factory=list)
    """Scenario id of each trial."""
    metric_values: list[float] = field(default_factory=list)
    """Mean of the metric's samples in each trial, in `unit`."""
    series_values: list[float] = field(default_factory=list)
    """Mean of the series during each trial, in `series_unit`."""


@dataclass(frozen=True)
class Selection:
    """Which pairs, and which trials of them, are correlated."""

    metrics: Mapping[str, Sequence[str]]
    """Probe label -> its metrics."""
    series: Sequence[str]
    """Names of telemetry series."""
    sources: Sequence[str]
    """Patterns with `*` and `?` of the sources of these series."""
    min_coverage: float
    """Smallest share of a trial that a series must cover, 0 to 1."""


@dataclass(frozen=True)
class Pairs:
    """The selected pairs, and the trials that are missing from them."""

    pairs: tuple[Pair, ...]
    """Pairs in the order of label, metric, source and series."""
    little_covered: tuple[str, ...]
    """Trials of which a selected series covers too little, as `TRIAL_ID: SOURCE SERIES`."""


def find_pairs(store: RunStore, selection: Selection) -> Pairs:
    """Collect the points of all selected pairs from the valid trials. Raises InputError if the run
    is damaged."""
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
                # The coverage is None for a series that is reported once, or was observed once:
                # such a trial counts.
                if row["coverage"] is not None and row["coverage"] < selection.min_coverage:
                    little[f"{row['trial_id']}: {row['source']} {row['series']}"] = None
                    continue
                _add_point(pairs, row)
    return Pairs(tuple(pairs[key] for key in sorted(pairs)), tuple(little))


def _is_selected(row: Mapping[str, Any], selection: Selection) -> bool:
    """Whether the metric and the source of a joined row are selected; `joined` selects the
    series."""
    return row["metric"] in selection.metrics.get(row["label"], ()) and any(
        fnmatchcase(row["source"], pattern) for pattern in selection.sources
    )


def _add_point(pairs: dict[tuple[str, ...], Pair], row: Mapping[str, Any]) -> None:
    """Add the point of a joined row to its pair, which is made for the first one."""
    names = ("label", "metric", "unit", "source", "series", "series_unit")
    key = tuple(row[name] for name in names)
    pair = pairs.setdefault(key, Pair(*key))
    pair.scenarios.append(row["scenario_id"])
    pair.metric_values.append(row["value"])
    pair.series_values.append(row["mean"])
