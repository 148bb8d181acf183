"""Where bars of times stand on a page: in per cent of its width, so that they fit a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from sfcperf.figures.attribution_bars import Part
from sfcperf.presentation import units

_LABEL_WIDTH = 0.85
"""Width of a character in per cent of a page of 860 pixels. Narrower pages leave the names to the
legend."""
_TICKS = 6
"""Largest number of steps between the ticks of an axis."""


@dataclass(frozen=True)
class BarAxis:
    """Turns times in us into positions on a page, in per cent of its width, and into words."""

    extent_us: float
    """Length of the longest bar, which takes the whole axis."""
    scale: units.Scale
    left: float = 0.0
    """Margin in per cent, like `right`: tick labels stand out of the axis."""
    right: float = 0.0

    def x(self, time_us: float) -> float:
        """Return the position of a time; a negative time is at the start."""
        return round(self.left + max(time_us, 0.0) * self._per_us, 3)

    def width(self, part: Part) -> float:
        """Return the length of a part."""
        return round(max(part.end_us - part.start_us, 0.0) * self._per_us, 3)

    def interval(self, part: Part) -> tuple[float, float] | None:
        """Return the ends of a part's whisker; None for a part without an interval."""
        if part.interval_us is None:
            return None
        low, high = part.interval_us
        return self.x(low), self.x(high)

    def text(self, part: Part) -> str:
        """Return name, mean and interval of a part, in words."""
        return f"{part.name}: {part.time.text(self.scale)}"

    def label(self, part: Part) -> str:
        """Return the name of a part if it fits under it, else an empty text."""
        fits = part.kind != "over" and len(part.name) * _LABEL_WIDTH < self.width(part)
        return part.name if fits else ""

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Return (position, value in the unit) of ticks at round steps."""
        most = self.extent_us * self.scale.factor
        if most <= 0:
            return [(self.x(0), "0")]
        # The smallest step that is 1, 2 or 5 times a power of ten and makes no more than _TICKS.
        size = 10.0 ** floor(log10(most / _TICKS))
        step = next(size * n for n in (1, 2, 5, 10) if most / (size * n) <= _TICKS)
        count = int(most / step) + 1
        return [(self.x(n * step / self.scale.factor), f"{n * step:g}") for n in range(count)]

    @property
    def _per_us(self) -> float:
        """Per cent of the page's width that a microsecond takes."""
        return (100 - self.left - self.right) / (self.extent_us or 1.0)
