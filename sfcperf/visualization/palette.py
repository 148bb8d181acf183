"""Colours, markers and dashes that tell series apart, also for colour-blind readers and in grey.

Colours after Okabe and Ito, "Color Universal Design" (2008), without the yellow, which is too
faint on paper; markers and dashes differ as well, so that colour is never the only cue.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Looks of one series."""

    colour: str
    """On a light ground; contrast to white at least 3:1 (WCAG 2.2, 1.4.11)."""
    dark: str
    """The same hue on a dark ground, at least 3:1 as well."""
    marker: str
    """matplotlib's name."""
    symbol: str
    """plotly's name of the same marker."""
    line: str
    """matplotlib's name of the dash pattern."""
    dash: str
    """plotly's name of the same dash pattern."""
    hatch: str
    """matplotlib's hatch for bars; plotly knows the same patterns."""


_STYLES = (
    Style("#0072b2", "#4aa8e0", "o", "circle", "-", "solid", ""),
    Style("#d55e00", "#ff8a3d", "s", "square", "--", "dash", "/"),
    Style("#008f68", "#2fc79c", "^", "triangle-up", "-.", "dashdot", "x"),
    Style("#b5588f", "#e29ac4", "D", "diamond", ":", "dot", "."),
    Style("#2b88b8", "#7cc7f0", "v", "triangle-down", "-", "solid", "\\"),
    Style("#a97400", "#f0b840", "P", "cross", "--", "dash", "+"),
    Style("#333333", "#dddddd", "X", "x", "-.", "dashdot", "-"),
)


def style(index: int) -> Style:
    """Style of the series with this index; after the last it starts anew."""
    return _STYLES[index % len(_STYLES)]
