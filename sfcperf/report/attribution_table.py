"""The numbers behind the report's attribution, in the words and units of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.presentation import units

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of the table: a VNF, another part of the path, or a sum. Numbers are texts in the unit
    of the group, without it."""

    what: str
    kind: str
    """VNF type, or where the number comes from."""
    total: bool
    """Whether it is about the whole chain."""
    mean: str
    interval: str
    median: str
    p99: str
    trials: str
    samples: str
    captured: str
    difference: str
    """Reported minus captured."""


def is_sampled(member: Document) -> bool:
    """Whether the monitor pptmon watched: without it, nothing is known of single VNFs. `member`: a
    path in attribution.json."""
    # Only pptmon gives VNFs times, or says that it cannot see them.
    return any(function["time"] or not function["seen"] for function in member["functions"])


def table_rows(member: Document, scale: units.Scale) -> Iterator[Row]:
    """Yield the rows of one scenario. `member`: its path in attribution.json."""
    for function in member["functions"] if is_sampled(member) else ():
        name, kind = function["name"], function["type"]
        if not function["seen"]:
            yield _row(name, f"{kind}, not seen by pptmon".lstrip(", "), None, scale)
            continue
        captured, difference = (_estimate(function[k], scale) for k in ("captured", "difference"))
        yield _row(name, kind, function["time"], scale, captured, difference)
    others = member["parts"]
    for part in others:
        yield _row(part["name"], "", part["time"], scale)
    if member["sum"] is not None or not others:
        yield _row("sum of the VNFs", "", member["sum"], scale, total=True)
    if member["end_to_end"] is not None:
        source = member["end_to_end_source"]
        yield _row("end to end", source, member["end_to_end"], scale, total=True)
        what = "end to end − all parts" if others else "end to end − sum"
        yield _row("residual", what, member["residual"], scale, total=True)


def _row(
    what: str,
    kind: str,
    estimate: Document | None,
    scale: units.Scale,
    captured: str = "",
    difference: str = "",
    *,
    total: bool = False,
) -> Row:
    """Make a row. `estimate` is from attribution.json; None makes a row without numbers."""
    estimate = estimate or {}
    # None without an interval, and 0 if all trials are equal.
    half = units.half_width(estimate.get("ci_low_us"), estimate.get("ci_high_us"))

    def shown(key: str, half_width: float | None = None) -> str:
        return scale.number(estimate[key], half_width) if estimate.get(key) is not None else ""

    interval = f"{shown('ci_low_us', half)} … {shown('ci_high_us', half)}" if half else ""
    if half == 0:
        interval = "± 0"
    return Row(
        what=what,
        kind=kind,
        total=total,
        mean=shown("mean_us", half) or "–",
        interval=interval,
        median=shown("median_us"),
        p99=shown("p99_us"),
        trials=str(estimate.get("trials", 0)),
        samples=str(estimate["samples"]) if "samples" in estimate else "",
        captured=captured,
        difference=difference,
    )


def _estimate(estimate: Document | None, scale: units.Scale) -> str:
    """Return an estimate as `mean ± half-width`; empty for None."""
    if estimate is None:
        return ""
    return scale.estimate(
        estimate["mean_us"], units.half_width(estimate["ci_low_us"], estimate["ci_high_us"])
    )
