"""The report's tables of results: summaries in the words and units of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfcperf.figures.plot import level_text, scenario_text
from sfcperf.presentation import units
from sfcperf.report.diagnosis import details
from sfcperf.results.records import Summary


@dataclass(frozen=True)
class ResultRow:
    """A summary as shown."""

    anchor: str
    levels: tuple[str, ...]
    mean: str
    interval: str
    below_zero: bool
    """The interval reaches below 0, though no trial did."""
    median: str
    """With its own interval where there are trials enough for one."""
    stdev: str
    spread: str
    """Smallest to largest trial."""
    n: int
    valid: bool
    remarks: tuple[tuple[str | None, str], ...]
    """Why it is not valid: the trial that it is about, if any, and the reason."""
    method: str
    picked: str
    """`mean` or `median`: which describes the trials best; empty when there are none."""
    picked_why: str
    warnings: tuple[str, ...]
    details: tuple[tuple[str, str], ...]
    """Percentiles, tests and the like: what, and its value with the unit."""


@dataclass(frozen=True)
class ResultTable:
    """All scenarios of one metric of one probe, in one unit."""

    title: str
    metric: str
    unit: str
    better: str
    confidence: str
    primary: bool
    factors: tuple[str, ...]
    rows: tuple[ResultRow, ...]


def results(summaries: Sequence[Summary]) -> list[ResultTable]:
    """A table per probe and metric, primary metrics first."""
    groups: dict[tuple[str, str], list[Summary]] = {}
    for row in summaries:
        groups.setdefault((row.label, row.metric), []).append(row)
    tables = [_table(group, number) for number, group in enumerate(groups.values())]
    return sorted(tables, key=lambda table: not table.primary)


def methods(summaries: Iterable[Summary]) -> list[str]:
    """How the intervals were made, each method once."""
    rows = list(summaries)
    of_means = {row.method for row in rows if row.ci_low is not None}
    of_medians = {row.median_method for row in rows if row.median_ci_low is not None}
    return sorted(of_means | of_medians)


def stopping(summaries: Iterable[Summary]) -> list[tuple[str, str]]:
    """(scenario, why no more rounds were run), each once."""
    found = {(scenario_text(row.scenario) or "the scenario", row.stop_reason) for row in summaries}
    return sorted((scenario, reason) for scenario, reason in found if reason)


def _table(group: Sequence[Summary], number: int) -> ResultTable:
    first = group[0]
    means = [row.mean for row in group if row.mean is not None]
    scale = units.scale_for(means, first.unit, first.metric)
    factors = tuple(dict.fromkeys(name for row in group for name in row.scenario))
    return ResultTable(
        f"{first.label}: {units.metric_title(first.metric)}",
        first.metric,
        scale.unit,
        {"higher": "higher is better", "lower": "lower is better"}.get(first.better, ""),
        f"{100 * first.confidence:g} %",
        first.primary,
        factors,
        tuple(_result(row, f"result-{number}-{i}", factors, scale) for i, row in enumerate(group)),
    )


def _result(row: Summary, anchor: str, factors: Sequence[str], scale: units.Scale) -> ResultRow:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale.factor

    low, high = scaled(row.ci_low), scaled(row.ci_high)
    half = None if low is None or high is None else (high - low) / 2

    def span(start: float | None, end: float | None, between: str) -> str:
        if start is None or end is None:
            return "–"
        return f"{units.number(start, half)}{between}{units.number(end, half)}"

    return ResultRow(
        anchor,
        tuple(level_text(row.scenario[name]) if name in row.scenario else "" for name in factors),
        units.estimate(scaled(row.mean), half),
        f"[{span(low, high, ', ')}]" if half is not None else "–",
        row.ci_low is not None and row.min is not None and row.ci_low < 0 <= row.min,
        _median(row, scale.factor),
        units.number(scaled(row.stdev), scaled(row.stdev)),
        span(scaled(row.min), scaled(row.max), " … "),
        row.n,
        row.valid,
        tuple(_remark(reason, row.excluded) for reason in row.reasons),
        row.method if half is not None else "–",
        row.centre if row.n else "",
        row.centre_reason,
        row.warnings,
        details(row, scale),
    )


def _median(row: Summary, factor: float) -> str:
    if row.median is None or row.median_ci_low is None or row.median_ci_high is None:
        half = None if row.ci_low is None or row.ci_high is None else row.ci_high - row.ci_low
        return units.number(
            None if row.median is None else row.median * factor, half and half / 2 * factor
        )
    low, high = row.median_ci_low * factor, row.median_ci_high * factor
    half = (high - low) / 2
    ends = f"[{units.number(low, half)}, {units.number(high, half)}]"
    return f"{units.number(row.median * factor, half)} {ends}"


def _remark(reason: str, excluded: Sequence[str]) -> tuple[str | None, str]:
    """Reasons of a summary start with the id of the trial that they are about."""
    trial, _, text = reason.partition(" ")
    return (trial, text) if trial in excluded else (None, reason)
