"""Frame of a figure: axes with the legend above and the note below; its files.

The same results give the same bytes, on another day, in another folder, for another user: files
have no dates and fixed hash salts, and the style changes matplotlib's own defaults, not those of
the user's `matplotlibrc`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.figures.layout import FigureLayout, inches
from sfcperf.figures.text_width import legend_columns, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 1.25
"""Height of a line of text over its type size."""
_USED = 0.96
"""Share of the width that text may take."""
_NO_DATES: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}
"""Format -> what matplotlib leaves out of its files, which differs from day to day or between
versions."""


@contextmanager
def settings(layout: FigureLayout) -> Iterator[None]:
    """Apply matplotlib's defaults and the settings of the style, and none of the user's, as long as
    the context lasts."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that the fonts lack is drawn as a box, which is seen without a warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(layout.style.settings())
        yield


def framed(
    layout: FigureLayout, axes_mm: float, note: str, labels: Sequence[str]
) -> tuple[Figure, Axes, int]:
    """Make a figure with its note, with axes `axes_mm` high, and with room for a legend of these
    labels. Returns the figure, its axes, and the number of columns that the legend gets. Call it
    within `settings`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    style, width_pt = layout.style, layout.width_pt
    lines = wrapped(note, style.note_pt, _USED * width_pt) if layout.with_note else []
    columns = legend_columns(labels, style.font_pt - 1, _USED * width_pt)
    legend_rows = -(-len(labels) // columns)
    height_pt = 72 * inches(axes_mm)
    height_pt += _LINE * (len(lines) * style.note_pt + legend_rows * (style.font_pt - 1))
    engine = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.03)
    figure = Figure(figsize=(width_pt / 72, height_pt / 72), layout=engine)
    axes = figure.add_subplot()
    if lines:
        text = "\n".join(lines)
        figure.supxlabel(text, fontsize=style.note_pt, color="#444444", x=0.01, ha="left")
    return figure, axes, columns


def wrap_labels(axes: Axes, layout: FigureLayout) -> None:
    """Break long labels of axes into lines, because the layout makes room for more lines but not
    for longer ones."""
    size_pt = layout.style.font_pt
    across_pt, up_pt = 0.8 * layout.width_pt, 0.7 * 72 * inches(layout.style.axes_mm)
    axes.set_xlabel("\n".join(wrapped(axes.get_xlabel(), size_pt, across_pt)))
    axes.set_ylabel("\n".join(wrapped(axes.get_ylabel(), size_pt, up_pt)))


def save(figure: Figure, target: Path, layout: FigureLayout) -> list[Path]:
    """Write `target` with the ending of each format; return the files. Call it within `settings`.
    Each file is written beside its place and then moved there, so that none is ever half
    written."""
    # The figure is laid out once, and not again for each format.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    files = []
    for name in layout.formats:
        path = target.with_name(f"{target.name}.{name}")
        beside = path.with_name(f".{path.name}.new")
        figure.savefig(beside, format=name, dpi=layout.style.png_dpi, metadata=_NO_DATES[name])
        files.append(beside.replace(path))
    return files


def visible_label(text: str) -> str:
    """Put a space before a label that starts with an underscore: matplotlib hides such labels."""
    return f" {text}" if text.startswith("_") else text
