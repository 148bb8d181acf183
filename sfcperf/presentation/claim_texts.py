"""Claims in words: rows of claims.json, the same on every page and in every table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.analysis.claims.verdicts import VERDICTS, Verdict
from sfcperf.counts import count_text
from sfcperf.presentation import units

MARKS: Mapping[Verdict, str] = {
    "agrees": "✓",
    "contradicts": "✕",
    "undecided": "?",
    "not comparable": "~",
    "not tested": "–",
}
"""Sign of each verdict, so that colour is never the only cue."""

ClaimRow = Mapping[str, Any]
"""A claim with its verdict, as in claims.json."""


def verdict_counts(rows: Sequence[ClaimRow]) -> list[tuple[Verdict, int, str]]:
    """Return each verdict, the number of claims that have it, and the words after that number:
    `1 agrees`, `2 agree`."""
    counts = Counter(row["verdict"] for row in rows)
    return [
        (verdict, counts[verdict], verdict if counts[verdict] == 1 else verdict.removesuffix("s"))
        for verdict in VERDICTS
    ]


def published_text(row: ClaimRow) -> str:
    """Return the published value with its unit, or the direction in words; `–` without one."""
    value = row["published"]
    if value is None or isinstance(value, str):
        return value or "–"
    about = "about " if row["digitised"] else ""
    return about + _exact(value, row)


def estimate_text(row: ClaimRow) -> str:
    """Return the estimate with its unit, to the decimal place that its interval justifies; `–`
    without one."""
    estimate, scale = row["estimate"], _scale(row)
    if estimate is None:
        return "–"
    return _per(scale.with_unit(scale.number(estimate, _half_width(row))), row)


def interval_text(row: ClaimRow) -> str:
    """Return the interval in the unit of the estimate, `∞` for an end that it does not have; `–`
    without an interval."""
    low, high = row["low"], row["high"]
    if low is None and high is None:
        return "–"
    scale, half = _scale(row), _half_width(row)
    ends = (
        "-∞" if low is None else scale.number(low, half),
        ("∞" if high is None else scale.number(high, half)),
    )
    return f"[{', '.join(ends)}]"


def measured_text(row: ClaimRow) -> str:
    """Return the estimate with its interval, if it has one: `98 µs [87, 111]`; `–` without both."""
    estimate, interval = estimate_text(row), interval_text(row)
    return estimate if interval == "–" else f"{estimate} {interval}"


def range_text(row: ClaimRow) -> str:
    """Return the range in which the claim holds: `above 0 µs`, `between 0.95 and 1.05`; for an
    order without an estimate, and for a claim without a test, empty."""
    above, below = row["above"], row["below"]
    if above is not None and below is not None:
        return f"between {_exact(above, row)} and {_exact(below, row)}"
    if above is not None:
        return f"above {_exact(above, row)}"
    return "" if below is None else f"below {_exact(below, row)}"


def needed_text(row: ClaimRow) -> str:
    """Return how many rounds would decide: `52 rounds or more may decide`; empty where that is not
    known."""
    needed = row["rounds_needed"]
    return "" if needed is None else f"{count_text(needed, 'round')} or more may decide"


def _half_width(row: ClaimRow) -> float | None:
    """Return how far the interval goes from the estimate; where only one end is there, that one's
    distance."""
    ends = [abs(row[end] - row["estimate"]) for end in ("low", "high") if row[end] is not None]
    return sum(ends) / len(ends) if ends else None


def _scale(row: ClaimRow) -> units.Scale:
    return units.scale_for([row["estimate"] or 0.0], row["unit"])


def _exact(value: float, row: ClaimRow) -> str:
    """Return a number that the workflow states, with the digits that it has there."""
    scale = units.scale_for([value], row["unit"])
    text = f"{value * scale.factor:.6g}"
    return _per(scale.with_unit(text) if "e" not in text else scale.quantity(value), row)


def _per(text: str, row: ClaimRow) -> str:
    return f"{text} per {row['per']}" if row["per"] else text
