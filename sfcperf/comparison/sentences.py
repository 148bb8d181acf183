"""What each row of a comparison shows, as a sentence that can be quoted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfcperf.analysis.comparison import Comparison, Estimate, Row
from sfcperf.comparison import wording
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.units import is_time, metric_title

_MOST_ROWS = 6
"""With more rows than this, undecided ones have no sentence."""
_SPEED = {"worse": "slower", "better": "faster"}


def sentences(comparison: Comparison) -> list[str]:
    """Return a sentence per row, for instance `v2 is 12 % [9, 15] slower at rules 1000 (ping rtt:
    43 µs to 48 µs)`."""
    titles, few = wording.side_titles(comparison), len(comparison.rows) <= _MOST_ROWS
    return [
        _sentence(row, comparison, titles)
        for row in comparison.rows
        if few or row.verdict != "undecided"
    ]


def _sentence(row: Row, comparison: Comparison, titles: Mapping[str, str]) -> str:
    candidate, baseline = titles[row.candidate], titles[comparison.baseline.name]
    where = f" at {scenario_text(row.scenario)}" if row.scenario else ""
    name = f"{row.label} {metric_title(row.metric)}"
    if row.relative is not None and _is_of_speed(row, row.relative):
        size = _without_sign(row.relative)
        # The two numbers say what is faster by 50 %: half the time, or half as much again.
        numbers = "" if wording.unlike_medians(row) else f": {wording.sides_text(row, comparison)}"
        return f"{candidate} is {size} {_SPEED[row.verdict]}{where} ({name}{numbers})"
    amount = wording.amount_text(row, comparison)
    if row.verdict == "equivalent":
        finding = f"{candidate} equals {baseline} within {wording.margin_text(row)}{where}"
    elif row.verdict == "undecided":
        finding = f"whether {candidate} differs{where} is undecided"
    else:
        finding = f"{candidate} is {row.verdict}{where}"
    return f"{finding} ({name}: {amount})"


def _is_of_speed(row: Row, relative: Estimate) -> bool:
    """Whether the row says that something takes longer, or that less is done per second, or the
    opposite."""
    worsens = (relative.value > 0) == (row.verdict == "worse")
    return row.verdict in _SPEED and (
        (is_time(row.unit) and worsens) or (row.unit.endswith("/s") and not worsens)
    )


def _without_sign(relative: Estimate) -> str:
    """Return the size of a relative difference, for instance `12 % [9, 15]`: of a decrease, too."""
    if relative.value < 0:
        low, high = relative.low, relative.high
        relative = replace(
            relative,
            value=-relative.value,
            low=None if high is None else -high,
            high=None if low is None else -low,
        )
    interval = wording.interval_text(relative, sign=False)
    return wording.relative_text(relative, sign=False) + (f" {interval}" if interval != "–" else "")
