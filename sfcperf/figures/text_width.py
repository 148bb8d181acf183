"""Text that fits: lines broken by the real width of words, legends in as many columns as fit."""

from __future__ import annotations

from collections.abc import Sequence

from sfcperf.presentation.wording import printable

_HANDLE_EM = 2.6 + 0.8 + 1.2
"""Width of a legend's entry besides its text, in type sizes: the handle, its distance to the text,
and the distance to the next column."""


def width_pt(text: str, size_pt: float) -> float:
    """Return the width of a line of text in the current font, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties = FontProperties(size=size_pt)
    width, _, _ = text_to_path.get_text_width_height_descent(printable(text), properties, False)
    return float(width)


def wrapped(text: str, size_pt: float, most_pt: float) -> list[str]:
    """Break `text` into lines of at most `most_pt` points. A longer word is a line of its own."""
    lines: list[str] = []
    for word in printable(text).split():
        if lines and width_pt(f"{lines[-1]} {word}", size_pt) <= most_pt:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def legend_columns(labels: Sequence[str], size_pt: float, most_pt: float) -> int:
    """Return the most columns in which a legend fits into `most_pt` points; at least 1."""
    widths = [width_pt(label, size_pt) + _HANDLE_EM * size_pt for label in labels]
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        # matplotlib fills a legend column by column. Fewer columns may do for the same number of
        # rows, and are then of more even length.
        if sum(max(widths[i : i + rows]) for i in range(0, len(widths), rows)) <= most_pt:
            return -(-len(labels) // rows)
    return 1
