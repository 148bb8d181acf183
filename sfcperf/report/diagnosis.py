"""What a summary knows of its trials beyond mean and interval, in the words and units of people."""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.presentation import units
from sfcperf.results.records import Summary

_STEADY = {"steady": "steady from the start", "never": "never steady"}


def details(row: Summary, scale: units.Scale) -> tuple[tuple[str, str], ...]:
    """(what, value with its unit) of a row; what is not known is left out."""
    return tuple(_details(row, scale))


def _details(row: Summary, scale: units.Scale) -> Iterator[tuple[str, str]]:
    if row.centre_reason:
        yield f"best described by the {row.centre}", row.centre_reason
    if trials := _percentiles(row, scale, "p", (5, 25, 75, 95)):
        yield "percentiles of the trials", trials
    if samples := _percentiles(row, scale, "samples_p", (5, 25, 50, 75, 95, 99)):
        yield f"percentiles of the {row.samples_n} samples", samples
    if row.bca_ci_low is not None and row.bca_ci_high is not None:
        ends = (_text(end, row, scale) for end in (row.bca_ci_low, row.bca_ci_high))
        yield row.bca_method, f"[{', '.join(ends)}] {scale.unit}".rstrip()
    if row.autocorrelation is not None:
        yield "lag-1 autocorrelation", f"{row.autocorrelation:.2f}{_p(row.autocorrelation_p)}"
    if row.trend_p is not None:
        drift = "" if row.drift_ratio is None else f"{row.drift_ratio:+.1%}"
        yield "last third of the rounds against the first", f"{drift}{_p(row.trend_p)}".strip()
    if row.steady:
        state = _STEADY.get(row.steady, f"steady after {row.steady_after} samples")
        yield "within a trial", f"{state} ({row.steady_method})"
    if row.outlier_method:
        yield "outliers", f"{', '.join(row.outliers) or 'none'} ({row.outlier_method})"


def _percentiles(row: Summary, scale: units.Scale, prefix: str, percents: tuple[int, ...]) -> str:
    known = [(p, getattr(row, f"{prefix}{p}")) for p in percents]
    texts = [f"p{p} {_text(value, row, scale)}" for p, value in known if value is not None]
    return f"{', '.join(texts)} {scale.unit}".rstrip() if texts else ""


def _text(value: float, row: Summary, scale: units.Scale) -> str:
    """To the place that the dispersion justifies: percentiles have no interval of their own."""
    return units.number(
        value * scale.factor, None if row.stdev is None else row.stdev * scale.factor
    )


def _p(p: float | None) -> str:
    return "" if p is None else f" (p = {p:.2g})"
