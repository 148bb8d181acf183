"""Figures of one run or of many: which, of what points, drawn how, as which files.

`RunData` reads a run; `chosen_figures` selects figures; `resolve_figures` gives their points and
fitted lines, which `write_figures` draws with matplotlib and `sfcperf.report` in the browser.
Imports `sfcperf.presentation` of the packages that show results. matplotlib is imported when
something is drawn.
"""

from sfcperf.figures.attribution_figure import (
    attribution_file_name,
    attribution_groups,
    write_attribution,
)
from sfcperf.figures.distribution import steps, thinned
from sfcperf.figures.figure_files import (
    ResolvedFigure,
    resolve_figures,
    write_figure,
    write_figures,
    written_files,
)
from sfcperf.figures.fits import fit_text
from sfcperf.figures.layout import FORMATS, FigureLayout, page_style
from sfcperf.figures.notes import curve_names, note
from sfcperf.figures.plot import Plot, Point, Series, resolve
from sfcperf.figures.results import RUN, Results
from sfcperf.figures.run_data import RunData, label_runs, letter_of, resolve_figure, side_by_side
from sfcperf.figures.selection import FigureRequest, automatic, chosen_figures
from sfcperf.figures.trial_index import TrialIndex

__all__ = [
    "FORMATS",
    "RUN",
    "FigureLayout",
    "FigureRequest",
    "Plot",
    "Point",
    "ResolvedFigure",
    "Results",
    "RunData",
    "Series",
    "TrialIndex",
    "attribution_file_name",
    "attribution_groups",
    "automatic",
    "chosen_figures",
    "curve_names",
    "fit_text",
    "label_runs",
    "letter_of",
    "note",
    "page_style",
    "resolve",
    "resolve_figure",
    "resolve_figures",
    "side_by_side",
    "steps",
    "thinned",
    "write_attribution",
    "write_figure",
    "write_figures",
    "written_files",
]
