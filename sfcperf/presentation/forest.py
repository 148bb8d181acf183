"""A forest plot: where intervals lie against the ranges that matter.

It is drawn when the page is made, as one small SVG per table row, with x in per cent of its width
(templates/forest.html.j2). So it stands beside its numbers, prints, scales to a phone, and needs no
script.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """What is drawn of one row; all places are in per cent of the width."""

    x: float
    """Place of the estimate."""
    low: float | None
    """Left end of its interval; None, like `high`, without an interval."""
    high: float | None
    below: bool
    """Whether the interval goes on to the left of the axis."""
    above: bool
    """Whether the interval goes on to the right of the axis."""
    band: tuple[float, float] | None
    """Left end and width of the range that matters; None without one."""
    second: tuple[float, float, float] | None
    """Another estimate and both ends of its interval, such as the ratio of means; None: there is
    none."""
