"""The report's tables of results: summaries in the words and units of people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sfcperf.analysis.statistics import rarest_mode
from sfcperf.counts import count_text
from sfcperf.presentation import units
from sfcperf.presentation.levels import by_metric, level_text, scenario_name
from sfcperf.results.records import Summary
from sfcperf.results.tables import factor_names

_STEADY = {"steady": "steady from the start", "never": "never steady"}


@dataclass(frozen=True)
class ResultRow:
    """A row of a table of results: a summary, with its numbers in the unit of the table."""

    summary: Summary
    anchor: str
    """Id of the row in the page, for links to it."""
    levels: tuple[str, ...]
    """Level of each factor of the table; empty for a factor that the scenario lacks."""
    value: str
    """Mean or median of the trials, whichever the metric declares as its centre."""
    interval: str
    """Confidence interval of `value`; a dash if there is none."""
    withheld: str
    """Why there is no interval; empty if there is one."""
    other: str
    """The mean if the median is declared, and the other way round."""
    stdev: str
    spread: str
    """Smallest to largest trial."""
    remarks: tuple[tuple[str | None, str], ...]
    """Why the summary is not valid: (trial that the reason is about, or None; the reason)."""
    details: tuple[tuple[str, str], ...]
    """(What it is, its value with the unit) of percentiles, tests and the like."""


@dataclass(frozen=True)
class ResultTable:
    """All scenarios of one metric of one probe, in one unit."""

    title: str
    metric: str
    unit: str
    better: str
    confidence: str
    primary: bool
    centre: str
    """Which of the two `value` is in the rows: `mean` or `median`."""
    factors: tuple[str, ...]
    rows: tuple[ResultRow, ...]


def results(summaries: Sequence[Summary]) -> list[ResultTable]:
    """Return a table for each probe and metric, primary metrics first."""
    groups = by_metric(summaries).values()
    tables = [_table(group, number) for number, group in enumerate(groups)]
    return sorted(tables, key=lambda table: not table.primary)


def methods(summaries: Iterable[Summary]) -> list[str]:
    """Return the methods with which intervals were computed, each once."""
    found = [row.estimate() for row in summaries]
    return sorted({estimate.method for estimate in found if estimate.low is not None})


def stopping(summaries: Iterable[Summary]) -> list[tuple[str, str]]:
    """Return (scenario, why no more rounds were run), each once."""
    found = {(scenario_name(row.scenario), row.stop_reason) for row in summaries}
    return sorted((scenario, reason) for scenario, reason in found if reason)


def _table(group: Sequence[Summary], number: int) -> ResultTable:
    """Make the table of one probe and metric. `number`: that of the table in the page, by which the
    rows' anchors are unique."""
    first = group[0]
    values = [value for row in group if (value := row.estimate().value) is not None]
    scale = units.scale_for(values, first.unit, first.metric)
    factors = tuple(factor_names(row.scenario for row in group))
    return ResultTable(
        f"{first.label}: {units.metric_title(first.metric)}",
        first.metric,
        scale.unit,
        {"higher": "higher is better", "lower": "lower is better"}.get(first.better, ""),
        f"{100 * first.confidence:g} %",
        first.primary,
        first.centre,
        factors,
        tuple(_result(row, f"result-{number}-{i}", factors, scale) for i, row in enumerate(group)),
    )


def _result(row: Summary, anchor: str, factors: Sequence[str], scale: units.Scale) -> ResultRow:
    """Make the row of a summary. It has a level for each of the table's `factors`; that of a factor
    which its scenario lacks is empty."""
    estimate = row.estimate()
    half = units.half_width(estimate.low, estimate.high)
    spread = "–"
    if row.min is not None and row.max is not None:
        spread = f"{scale.number(row.min, half)} … {scale.number(row.max, half)}"
    return ResultRow(
        row,
        anchor,
        tuple(level_text(row.scenario[name]) if name in row.scenario else "" for name in factors),
        scale.number(estimate.value, half),
        scale.interval(estimate.low, estimate.high),
        estimate.withheld,
        scale.number(row.mean if row.centre == "median" else row.median, half),
        scale.number(row.stdev, row.stdev),  # to two digits, like a half-width
        spread,
        tuple(_remark(reason, row.excluded) for reason in row.reasons),
        tuple(details(row, scale)),
    )


def _remark(reason: str, excluded: Sequence[str]) -> tuple[str | None, str]:
    """Split a reason into the id of its trial, which the page links, and the rest. A reason that is
    about no excluded trial stays whole."""
    trial, _, text = reason.partition(" ")
    return (trial, text) if trial in excluded else (None, reason)


def details(row: Summary, scale: units.Scale) -> Iterator[tuple[str, str]]:
    """Yield (what, value with its unit) of all that a summary knows beyond centre and interval.
    What is not known is left out."""
    other = "mean" if row.centre == "median" else "median"
    ends = row.estimate(other)
    if ends.low is not None:
        yield f"interval of the {other}", f"{scale.interval(ends.low, ends.high)} ({ends.method})"
    if trials := _percentiles(row, scale, "p", (5, 25, 75, 95)):
        yield "percentiles of the trials", trials
    if samples := _percentiles(row, scale, "samples_p", (5, 25, 50, 75, 90, 95, 99)):
        yield f"percentiles of the {count_text(row.samples_n, 'sample')}", samples
    if typical := _typical(row, scale):
        yield "percentiles of the samples in a typical trial", typical
    if row.typical_ci_withheld:
        yield "without an interval over trials", row.typical_ci_withheld
    if row.autocorrelation is not None:
        yield "lag-1 autocorrelation", f"{row.autocorrelation:.2f}{_p(row.autocorrelation_p)}"
    if row.trend_p is not None:
        drift = "" if row.drift_ratio is None else f"{row.drift_ratio:+.1%}"
        yield "last third of the rounds against the first", f"{drift}{_p(row.trend_p)}".strip()
    if row.steady:
        state = _STEADY.get(
            row.steady, f"steady after {count_text(row.steady_after or 0, 'sample')}"
        )
        yield "within a trial", f"{state} ({row.steady_method})"
    if row.n:
        yield "rarest mode that would be seen", f"{100 * rarest_mode(row.n):.2g} % of the trials"
    if row.outlier_method:
        yield "outliers", f"{', '.join(row.outliers) or 'none'} ({row.outlier_method})"


def _percentiles(row: Summary, scale: units.Scale, prefix: str, percents: tuple[int, ...]) -> str:
    """Return the percentiles in the fields PREFIXpercent of a summary, such as `p5 1.2, p95 3.4
    us`; empty if none is known."""
    known = [(p, getattr(row, f"{prefix}{p}")) for p in percents]
    texts = [f"p{p} {_text(value, row, scale)}" for p, value in known if value is not None]
    return f"{', '.join(texts)} {scale.unit}".rstrip() if texts else ""


def _typical(row: Summary, scale: units.Scale) -> str:
    """Return the percentiles of the samples in a typical trial, such as
    `p50 1.23 [1.20, 1.26], p90 1.45 us`; empty if none is known."""
    texts = []
    for percent in (50, 90, 99):
        value, low, high = (
            getattr(row, f"typical_p{percent}{end}") for end in ("", "_ci_low", "_ci_high")
        )
        half = units.half_width(low, high)
        number = scale.number(value, row.stdev if half is None else half)
        interval = "" if half is None else f" {scale.interval(low, high)}"
        texts += [] if value is None else [f"p{percent} {number}{interval}"]
    return f"{', '.join(texts)} {scale.unit}".rstrip() if texts else ""


def _text(value: float, row: Summary, scale: units.Scale) -> str:
    """Return a percentile, rounded by the standard deviation of the trials: percentiles have no
    interval that could say how many digits are justified."""
    return scale.number(value, row.stdev)


def _p(p: float | None) -> str:
    """Return a p-value as ` (p = 0.03)`; empty if it is not known."""
    return "" if p is None else f" (p = {p:.2g})"
