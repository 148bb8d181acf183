"""From a plot to files: axes, legend above them, note below, in SVG, PDF and PNG.

The same results give the same bytes, on another day, in another folder, for another user: no
dates, fixed hash salts, and matplotlib's own defaults below the style, whatever `matplotlibrc` is
about.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.figures.axis_ticks import set_ticks
from sfcperf.figures.fits import fit_text
from sfcperf.figures.marks import (
    distribution_marks,
    drawn_values,
    fit_mark,
    is_grouped,
    missing_marks,
    series_marks,
)
from sfcperf.figures.notes import curve_names, note
from sfcperf.figures.page_styles import FORMATS, STYLES, PageStyle, inches
from sfcperf.figures.plot import Plot
from sfcperf.figures.text_width import legend_columns, printable, wrapped
from sfcperf.presentation import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from sfcperf.analysis.fits import LineFit

_LINE = 1.25
"""Height of a line of text over its size."""
_NO_DATES: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


def draw(
    plot: Plot,
    fits: Mapping[str, LineFit],
    target: Path,
    formats: Sequence[str] = FORMATS,
    *,
    style: PageStyle = STYLES["paper"],
    width_mm: float | None = None,
    with_note: bool = True,
) -> list[Path]:
    """Write `target` with the ending of each format; `fits`: name of a series -> its line.

    `width_mm` is the style's column unless given; without `with_note` what the error bars are must
    stand in the caption.
    """
    with settings(style):
        figure = _figure(plot, fits, style, width_mm or style.column_mm, with_note=with_note)
        return save(figure, target, formats, style)


def save(figure: Figure, target: Path, formats: Sequence[str], style: PageStyle) -> list[Path]:
    """Write a figure that was made within `settings`; gives the files."""
    # Lay out once, not once for each format.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = []
    for name in formats:
        path = target.with_name(f"{target.name}.{name}")
        beside = path.with_name(f".{path.name}.new")
        figure.savefig(beside, format=name, dpi=style.png_dpi, metadata=_NO_DATES[name])
        files.append(beside.replace(path))
    return files


@contextmanager
def settings(style: PageStyle) -> Iterator[None]:
    """matplotlib's settings for a style, and nothing of the user's."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that the fonts lack is drawn as a box, which is seen without a warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style.settings())
        yield


def _figure(
    plot: Plot, fits: Mapping[str, LineFit], style: PageStyle, width_mm: float, *, with_note: bool
) -> Figure:
    from matplotlib.figure import Figure

    width_pt = 72 * inches(width_mm)
    words = wrapped(note(plot, fits), style.note_pt, 0.97 * width_pt) if with_note else []
    handles = _handles(plot, fits)
    labels = [str(handle.get_label()) for handle in handles]
    columns = legend_columns(labels, style.font_pt - 1, 0.97 * width_pt)
    legend_rows = -(-len(handles) // columns) if handles else 0
    height_pt = 72 * inches(style.axes_mm)
    height_pt += _LINE * (len(words) * style.note_pt + legend_rows * (style.font_pt - 1))
    figure = Figure(figsize=(width_pt / 72, height_pt / 72), layout=_constrained())
    axes = figure.add_subplot()
    _draw_series(axes, plot, fits)
    if handles:
        # Above the axes: never over the data.
        figure.legend(
            handles=handles, loc="outside upper left", ncols=columns, handlelength=2.6,
            columnspacing=1.2, borderaxespad=0.0, labelspacing=0.2,
        )  # fmt: skip
    if words:
        grey = "#444444"
        figure.supxlabel("\n".join(words), fontsize=style.note_pt, color=grey, x=0.01, ha="left")
    set_ticks(axes, plot, width_pt, style.font_pt - 1)
    return figure


def _constrained() -> ConstrainedLayoutEngine:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02)


def _draw_series(axes: Axes, plot: Plot, fits: Mapping[str, LineFit]) -> None:
    if plot.spec.kind == "ecdf":
        distribution_marks(axes, plot)
        axes.set_xlabel(printable(plot.spec.y_label))
        axes.set_ylabel("Share of samples [1]")
        axes.set_ylim(0, 1.01)
        return
    for index, series in enumerate(plot.series):
        fit = fits.get(series.name)
        series_marks(axes, plot, series, index, joined=not fits)
        if fit is not None:
            fit_mark(axes, plot, series, fit, index)
        missing_marks(axes, plot, series, index)
    axes.set_xlabel(printable(plot.spec.x_label))
    axes.set_ylabel(printable(plot.spec.y_label))
    if is_grouped(plot):
        axes.grid(False, axis="x")
    values = drawn_values(plot)
    # From zero, so that lengths compare as the numbers do; boxes show a spread, not a length.
    if min(values, default=0) >= 0 and plot.spec.kind != "box":
        axes.set_ylim(bottom=0, top=1.08 * max(values, default=0) or 1)


def _handles(plot: Plot, fits: Mapping[str, LineFit]) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for index, name in enumerate(curve_names(plot)):
        look = palette.style(index)
        fit = fits.get(name)
        words = printable(name or (plot.spec.title if fit else ""))
        label = f"{words} ({fit_text(fit)})".lstrip() if fit else words
        if not label:
            continue
        if plot.spec.kind == "bar":
            handle: Any = Patch(facecolor=look.colour, hatch=3 * look.hatch, edgecolor="white")
        elif plot.spec.kind == "ecdf":
            handle = Line2D([], [], color=look.colour, ls=look.line)
        else:
            line = "none" if plot.spec.kind == "box" else look.line
            handle = Line2D([], [], color=look.colour, marker=look.marker, ls=line)
        # matplotlib hides labels that start with an underscore.
        handle.set_label(f" {label}" if label.startswith("_") else label)
        handles.append(handle)
    return handles
