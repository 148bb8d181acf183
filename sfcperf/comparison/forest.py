"""The forest plot of a comparison: where each interval lies against 0 and the margin.

templates/forest.html.j2 (sfcperf.presentation) draws each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from sfcperf.analysis.comparison import Row
from sfcperf.comparison import wording
from sfcperf.presentation.forest import Mark

_MARGINS_SHOWN = 3.0
"""Margins that the axis shows on either side of 0, if an interval reaches so far."""
_TYPICAL = 0.8
"""Share of the intervals' ends that the axis shows; an interval beyond it ends in an arrow."""
_LONG = 5.0
"""Ratio from which on tick texts are so long (`+500 %`) that fewer ticks are drawn."""
_USED = 42.0
"""Per cent of the width that the axis has on either side of 0; the rest is for the texts of the
outermost ticks."""


@dataclass(frozen=True)
class Axis:
    """The axis of the forest plot, from -limit to limit; values are ratios of the baseline."""

    limit: float

    def x(self, ratio: float) -> float:
        """Return the place of a ratio in per cent of the width. A ratio beyond the axis is placed
        at its end."""
        inside = max(-self.limit, min(self.limit, ratio))
        return round(50 + _USED * inside / self.limit, 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Place and text of each tick."""
        # Long numbers have no room beside each other.
        shares = [-1.0, -0.5, 0.0, 0.5, 1.0] if self.limit < _LONG else [-1.0, 0.0, 1.0]
        return [
            (self.x(s * self.limit), f"{100 * s * self.limit:+g} %" if s else "0") for s in shares
        ]


def axis_of(rows: Sequence[Row]) -> Axis:
    """Return the one axis of all rows, which makes them comparable by eye. It has room for the
    margins and for most ends of intervals (_TYPICAL), and for all ends if they are within
    _MARGINS_SHOWN margins."""
    ends = sorted(
        abs(end)
        for row in rows
        if row.relative is not None
        for end in (row.relative.value, row.relative.low, row.relative.high)
        if end is not None
    )
    margins = [size for size in map(relative_margin, rows) if size is not None]
    widest = _MARGINS_SHOWN * max(margins, default=0.05)
    if not ends:
        return Axis(_round_up(widest))
    typical = 1.2 * ends[min(len(ends) - 1, int(_TYPICAL * len(ends)))]
    return Axis(
        _round_up(
            max(typical, min(widest, 1.2 * max(ends, default=0)), max(margins, default=0) * 1.3)
        )
    )


def mark(row: Row, axis: Axis) -> Mark | None:
    """Return what is drawn of a row; None for a row without a relative difference: its baseline is
    0, or it has too few trials."""
    if row.relative is None:
        return None
    low, high, margin = row.relative.low, row.relative.high, relative_margin(row)
    band = None
    if margin is not None:
        start, end = axis.x(-margin), axis.x(margin)
        band = (start, round(end - start, 2))
    return Mark(
        axis.x(row.relative.value),
        None if low is None else axis.x(low),
        None if high is None else axis.x(high),
        low is not None and low < -axis.limit,
        high is not None and high > axis.limit,
        band,
        _means(row, axis),
    )


def _means(row: Row, axis: Axis) -> tuple[float, float, float] | None:
    """Return the places of the ratio of means and of both ends of its interval; None without an
    interval."""
    ratio = row.mean_ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return axis.x(ratio.value), axis.x(ratio.low), axis.x(ratio.high)


def relative_margin(row: Row) -> float | None:
    """Return the margin of a row as a ratio of the baseline; None without a margin, or if an
    absolute margin has a baseline of 0."""
    if row.margin is None or not row.margin_absolute:
        return row.margin
    baseline, _ = wording.numbers_of(row)
    return row.margin / abs(baseline) if baseline else None


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 5, 6, 8 or 10 times a power of ten. Half of such a number, where there
    is a tick as well, is short too."""
    power = 10.0 ** floor(log10(value))
    # A value that exceeds a step by rounding only does not take the next one, hence 0.999.
    step = next((s for s in (1, 2, 4, 5, 6, 8, 10) if s * power >= value * 0.999), 10)
    return float(f"{step * power:.6g}")
