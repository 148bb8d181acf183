"""Colours, markers and dashes that tell series apart, also for colour-blind readers and in grey.

The first two colours are those of Okabe and Ito, "Color Universal Design" (2008). The others were
chosen so that any two of the seven are far apart in OKLab (Ottosson 2020), as readers with normal
sight, protanopia, deuteranopia or tritanopia see them (Machado et al., IEEE TVCG 2009), and none is
too faint on paper. Markers and dashes differ as well, so that colour is never the only cue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Dashes = str | tuple[int, tuple[float, ...]]
"""A dash pattern of matplotlib: its name, or an offset and the lengths of ink and gap in turn."""


@dataclass(frozen=True)
class Style:
    """How one series looks."""

    colour: str
    """Colour on a light ground; its contrast to white is at least 3:1 (WCAG 2.2, 1.4.11)."""
    dark: str
    """The same hue on a dark ground, with a contrast of at least 3:1 as well."""
    marker: str
    """matplotlib's name of the marker."""
    symbol: str
    """plotly's name of the same marker."""
    line: Dashes
    """matplotlib's dash pattern."""
    dash: str
    """plotly's name of the same dash pattern."""
    hatch: str
    """matplotlib's hatch for bars; plotly knows the same patterns."""

    def plotly(self) -> dict[str, str]:
        """Return the attributes that templates/page.js draws with, by their names."""
        names = ("colour", "dark", "symbol", "dash", "hatch")
        return {name: getattr(self, name) for name in names}


_STYLES = (
    Style("#0072b2", "#4aa8e0", "o", "circle", "-", "solid", ""),
    Style("#d55e00", "#ff8a3d", "s", "square", "--", "dash", "/"),
    Style("#00a086", "#56e1bb", "^", "triangle-up", "-.", "dashdot", "x"),
    Style("#a52267", "#b94461", "D", "diamond", ":", "dot", "."),
    Style("#4022a2", "#6e5ec1", "v", "triangle-down", (0, (8, 2)), "longdash", "\\"),
    Style("#5b4d04", "#ffda40", "P", "cross", (0, (6, 2, 1, 2, 1, 2)), "longdashdot", "+"),
    Style("#2c2c2c", "#ffffff", "X", "x", (0, (2, 1)), "3px,2px", "-"),
)


def style(index: int) -> Style:
    """Return the style of the series with this index. After the last colour the colours repeat,
    each with the marker, dashes and hatch of another one, so that the first 49 styles all
    differ."""
    turn, colour = divmod(index, len(_STYLES))
    if not turn:
        return _STYLES[colour]
    shape = _STYLES[(colour + turn) % len(_STYLES)]
    return replace(shape, colour=_STYLES[colour].colour, dark=_STYLES[colour].dark)
