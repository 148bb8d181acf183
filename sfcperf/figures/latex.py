r"""A figure's LaTeX: `\includegraphics` and a caption that says what the error bars are."""

from __future__ import annotations

import re

from sfcperf.figures.layout import FigureLayout
from sfcperf.presentation.wording import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "|": r"\textbar{}",
    "×": r"$\times$",
    "µ": r"$\mu$",
    "²": r"\textsuperscript{2}",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "–": "--",
    "…": r"\ldots{}",
}


def latex(file: str, title: str, note: str, layout: FigureLayout) -> str:
    """Return the LaTeX of a figure: a `figure` environment, or `figure*` if it is more than 1 mm
    wider than a column. `file`: the file that it includes; `note`: the rest of the caption after
    the title."""
    name = file.rpartition(".")[0]
    star = "*" if layout.width_mm > layout.style.column_mm + 1 else ""
    title = title.rstrip(".")
    return "\n".join(
        (
            "% Needs \\usepackage{graphicx}.",
            f"\\begin{{figure{star}}}",
            "  \\centering",
            f"  \\includegraphics[width={layout.width_mm:g}mm]{{{file}}}",
            f"  \\caption{{{escape(title)}. {escape(note)}}}",
            f"  \\label{{fig:{re.sub(r'[^A-Za-z0-9-]', '-', name)}}}",
            f"\\end{{figure{star}}}",
            "",
        )
    )


def escape(text: str) -> str:
    """Escape text so that LaTeX prints it as it is. A number and its percent sign stay on one
    line."""
    escaped = "".join(_SPECIAL.get(c, c) for c in printable(text))
    return escaped.replace(" \\%", "\\,\\%")
