"""Layout of figures: size, type and file formats, for a column, a page or a slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

FORMATS = ("svg", "pdf", "png")

_NARROWEST_MM = 40.0
_WIDEST_MM = 1000.0
_MM_PER_IN = 25.4
_SANS: dict[RcKeyType, Any] = {"font.family": ["DejaVu Sans"]}
_COMMON: dict[RcKeyType, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
    "grid.color": "#d9d9d9",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    # PDF has TrueType fonts, because IEEE PDF eXpress refuses Type 3; SVG has letters as paths.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "sfcperf",
    # A `$` in the workflow's words is a dollar, not TeX.
    "text.parse_math": False,
}


@dataclass(frozen=True)
class PageStyle:
    """A kind of page that figures are made for: its sizes and its type."""

    name: str
    title: str
    """What the style is for, in words."""
    column_mm: float
    """Width of a column."""
    page_mm: float
    """Width of the text of a page."""
    axes_mm: float
    """Height of a figure without its legend and note."""
    font_pt: float
    """Type size of labels of axes; ticks and legend have one point less."""
    note_pt: float
    """Type size of the note."""
    png_dpi: int
    scale: float
    """Size of lines and markers, relative to those of a printed column."""
    family: Mapping[RcKeyType, Any] = field(default_factory=dict)
    """Settings of matplotlib for another font than that of papers."""

    def width_mm(self, width: str) -> float:
        """Return a width in millimetres; `width` is `column`, `page`, or a number of millimetres.
        Raises InputError for anything else."""
        if width in ("column", "page"):
            return self.column_mm if width == "column" else self.page_mm
        try:
            millimetres = float(width)
        except ValueError:
            millimetres = 0.0
        if not _NARROWEST_MM <= millimetres <= _WIDEST_MM:
            raise InputError(
                f"{width!r} is not a width",
                where="--width",
                allowed=f"column ({self.column_mm:g} mm), page ({self.page_mm:g} mm), or "
                f"millimetres from {_NARROWEST_MM:g} to {_WIDEST_MM:g}",
            )
        return millimetres

    def settings(self) -> dict[RcKeyType, Any]:
        """Return the settings of matplotlib that differ from its defaults."""
        return {
            **_COMMON,
            # Both families come with matplotlib, so a figure is the same on every machine.
            "font.family": ["STIXGeneral", "DejaVu Sans"],
            "font.size": self.font_pt,
            "axes.labelsize": self.font_pt,
            "xtick.labelsize": self.font_pt - 1,
            "ytick.labelsize": self.font_pt - 1,
            "legend.fontsize": self.font_pt - 1,
            "lines.linewidth": 1.0 * self.scale,
            "lines.markersize": 4 * self.scale,
            "errorbar.capsize": 2 * self.scale,
            **self.family,
        }


STYLES = {
    style.name: style
    for style in (
        # IEEE: columns of 3.5 in, pages of 7.125 in; 8 pt type.
        PageStyle("paper", "IEEE and most two-column papers", 88.9, 181.0, 60, 8, 6, 300, 1.0),
        # ACM acmart, sigconf: columns of 3.33 in, pages of 7 in.
        PageStyle("acm", "ACM proceedings (acmart, sigconf)", 84.7, 177.8, 58, 8, 6, 300, 1.0),
        # 16:9 slides of 13.33 in x 7.5 in: half a slide, or all of it.
        PageStyle("slides", "16:9 slides", 160.0, 320.0, 110, 16, 11, 150, 2.0, _SANS),
    )
}


@dataclass(frozen=True)
class FigureLayout:
    """Size, style and formats of figures."""

    style: PageStyle = STYLES["paper"]
    width_mm: float = STYLES["paper"].column_mm
    formats: Sequence[str] = FORMATS
    with_note: bool = True
    """Whether a note below the figure says what its error bars are; else its caption has to."""

    @property
    def folder_name(self) -> str:
        """Name of the folder for figures of this layout; empty for the layout of figures in the run
        folder, whatever the formats."""
        if self == replace(PAPER, formats=self.formats):
            return ""
        note = "" if self.with_note else "-no-note"
        return f"{self.style.name}-{self.width_mm:g}mm{note}"

    @property
    def width_pt(self) -> float:
        """Width in points."""
        return 72 * inches(self.width_mm)


PAPER = FigureLayout()
"""Layout of the figures in a run folder."""


def page_style(name: str) -> PageStyle:
    """Return the style of this name. Raises InputError if there is none."""
    if name not in STYLES:
        raise InputError(f"there is no style {name!r}", where="--style", allowed=", ".join(STYLES))
    return STYLES[name]


def inches(millimetres: float) -> float:
    """Convert millimetres to inches, which are matplotlib's unit of length."""
    return millimetres / _MM_PER_IN
