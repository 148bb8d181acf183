"""A comparison as a flat CSV table."""

from __future__ import annotations

from sfcperf.analysis.comparison import Comparison, Estimate, Row
from sfcperf.results.tables.columns import PREFIX, cell, csv_text, factor_names

_ESTIMATES = (
    "difference", "relative", "mean_difference", "mean_ratio", "tost_interval", "effect",
    "hedges_g",
)  # fmt: skip
"""Attributes of a row that are estimates; each has four columns."""
_PLAIN = (
    "test", "p", "p_holm", "p_least", "family", "tost_p", "rarest_mode", "margin",
    "margin_absolute", "verdict", "n_needed", "n_needed_for",
)  # fmt: skip
"""Attributes of a row that have one column."""


def comparison_csv(comparison: Comparison) -> str:
    """Return the CSV text with a line per row of the comparison. Factors have columns as in
    `sfcperf export`; a number that does not exist is an empty cell."""
    factors = factor_names(row.scenario for row in comparison.rows)
    lines = (_line(comparison, row, factors) for row in comparison.rows)
    return csv_text([_header(factors), *lines])


def _header(factors: list[str]) -> list[str]:
    """Return the names of the columns, in the order of the cells of `_line`."""
    estimates = [
        f"{name}{part}" for name in _ESTIMATES for part in ("", "_low", "_high", "_method")
    ]
    return [
        "baseline", "candidate", *(PREFIX + name for name in factors), "label", "metric", "unit",
        "better", "primary", "paired", "n_a", "n_b", "median_a", "median_b", "mean_a", "mean_b",
        *estimates, *_PLAIN, "withheld", "warnings", "runs_a", "runs_b", "run_sd_a", "run_sd_b",
        "round_sd_a", "round_sd_b", "noise_floor",
    ]  # fmt: skip


def _line(comparison: Comparison, row: Row, factors: list[str]) -> list[object]:
    """Return the cells of a row, in the order of the columns of `_header`."""
    return [
        comparison.baseline.name, row.candidate,
        *(cell(row.scenario.get(name)) for name in factors),
        row.label, row.metric, row.unit, row.better, row.primary, row.paired, row.n_a, row.n_b,
        row.a.median, row.b.median, row.a.mean, row.b.mean,
        *(value for name in _ESTIMATES for value in _estimate(getattr(row, name))),
        *(getattr(row, name) for name in _PLAIN), "; ".join(row.withheld),
        "; ".join(row.warnings), *_of_runs(row), row.floor.limit if row.floor else None,
    ]  # fmt: skip


def _of_runs(row: Row) -> list[object]:
    """Return the cells about runs, of baseline and candidate: numbers of runs, dispersions between
    runs, dispersions between rounds. Dispersions are ratios where all values are positive, else in
    the unit. For one run per side the numbers are 1, and there are no dispersions (None)."""
    if row.replication is None:
        return [1, 1, None, None, None, None]
    a, b = row.replication.a, row.replication.b
    return [a.runs, b.runs, a.between, b.between, a.within, b.within]


def _estimate(estimate: Estimate | None) -> tuple[object, ...]:
    """Return the four cells of an estimate: value, ends of its interval, method."""
    if estimate is None:
        return (None, None, None, None)
    return (estimate.value, estimate.low, estimate.high, estimate.method)
