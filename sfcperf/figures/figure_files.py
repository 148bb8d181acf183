"""Figures as files: SVG, PDF and PNG, with their data as CSV and their LaTeX beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from sfcperf.errors import InputError, system_errors_as
from sfcperf.figures.attribution_figure import attribution_names, write_attribution
from sfcperf.figures.csv_tables import (
    band_csv,
    data_csv,
    published_csv,
    samples_csv,
    time_csv,
    trials_csv,
)
from sfcperf.figures.drawing import draw
from sfcperf.figures.fits import fitted_lines
from sfcperf.figures.latex import latex
from sfcperf.figures.layout import FORMATS, PAPER, FigureLayout
from sfcperf.figures.notes import note
from sfcperf.figures.plot import Plot
from sfcperf.figures.run_data import RunData, resolve_figure, side_by_side
from sfcperf.figures.selection import FigureRequest, chosen_figures
from sfcperf.figures.throughput_figure import throughput_names, write_throughput
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.results.files import replace_file
from sfcperf.results.ownership import check_place
from sfcperf.results.store import RunStore
from sfcperf.workflow.document.findings import listing
from sfcperf.workflow.model import DISTRIBUTIONS, FigureKind, FigureSpec

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit

ResolvedFigure = tuple[Plot, Mapping[str, "LineFit"]]
"""A figure's points, and name of a series -> its fitted line."""


def resolve_figures(
    runs: Sequence[RunData], specs: Sequence[FigureSpec], index: TrialIndex | None = None
) -> list[ResolvedFigure]:
    """Resolve figures over one run or many into points and fitted lines. `index` has the trials of
    the runs (None: it is built here), and the derived trials of figures with lines are added to it.
    Raises InputError if a run folder is damaged."""
    results = side_by_side(runs)
    index = index or TrialIndex(results.trials)
    plots = [resolve_figure(runs, results, spec, index) for spec in specs]
    return [(plot, fitted_lines(runs, plot)) for plot in plots]


def write_figures(
    runs: Sequence[RunData],
    request: FigureRequest,
    layout: FigureLayout,
    folder: Path,
) -> list[Path]:
    """Draw the chosen figures (see `chosen_figures`) into `folder`, each with its data as CSV and
    its LaTeX. For one run the figures of its attribution and its searches are drawn as well, if the
    request chooses them or nothing at all. Returns the files.

    Raises InputError; nothing is written if a figure cannot be chosen or named.
    """
    special = _special_names(runs)
    # A request that asks for nothing gets all figures.
    chosen = set(special) if request == FigureRequest() else set(special) & set(request.figures)
    others = tuple(name for name in request.figures if name not in chosen)
    specs = []
    if others or not request.figures:
        specs = chosen_figures(runs, side_by_side(runs), replace(request, figures=others), special)
    if request.figures and chosen and replace(request, figures=()) != FigureRequest():
        raise InputError(
            f"the figure {min(chosen)!r} is not drawn from one metric, and is drawn as it is",
            where="--figure",
            hint="name it in a command of its own, without options such as --kind",
        )
    for spec in specs:
        _check_name(spec)
    resolved = resolve_figures(runs, specs)
    if request.kind == "time":
        for plot, _ in resolved:
            _check_curves(plot, runs)
    check_place(folder)
    with system_errors_as(InputError, "cannot create this folder", where=folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = []
    for plot, fits in resolved:
        files += write_figure(plot, fits, folder, layout)
        name = plot.spec.name
        text = latex(_included(name, layout), plot.spec.title, note(plot, fits), layout)
        replace_file(snippet := folder / f"{name}.tex", text)
        files.append(snippet)
    if chosen:
        files += write_attribution(runs[0].store, folder, layout, chosen)
        files += write_throughput(runs[0].store, folder, layout, chosen)
    return files


def _special_names(runs: Sequence[RunData]) -> list[str]:
    """List the names of a run's figures that are not of one metric: those of its attribution and of
    its searches. Empty for many runs."""
    if len(runs) != 1:
        return []
    return [*attribution_names(runs[0].store), *throughput_names(runs[0].store)]


def write_figure(
    plot: Plot,
    fits: Mapping[str, LineFit],
    folder: Path,
    layout: FigureLayout = PAPER,
) -> list[Path]:
    """Draw a figure into a folder, and write CSV files of its points and trials beside it; for a
    distribution also of samples and bands, for curves over time also of their steps, and of
    published values if there are any. Returns the files. Raises InputError if the figure's name is
    not a plain file name."""
    _check_name(plot.spec)
    target = folder / plot.spec.name
    folder.mkdir(parents=True, exist_ok=True)
    files = draw(plot, fits, target, layout)
    tables = {".csv": data_csv(plot), ".trials.csv": trials_csv(plot)}
    if plot.spec.kind == "ecdf":
        tables |= {".samples.csv": samples_csv(plot), ".band.csv": band_csv(plot)}
    if plot.spec.kind == "time":
        tables |= {".time.csv": time_csv(plot)}
    if plot.published:
        tables |= {".published.csv": published_csv(plot)}
    for ending, text in tables.items():
        replace_file(table := target.with_name(target.name + ending), text)
        files.append(table)
    return files


def written_files(run: RunStore, figure: str, *tables: str) -> tuple[str, ...]:
    """List the files of a figure that exist in the run folder, relative to it. `tables`: endings of
    CSV files, which are looked for besides the drawn formats."""
    names = [f"{figure}.{ending}" for ending in (*FORMATS, *tables)]
    return tuple(f"figures/{name}" for name in names if (run.figures / name).is_file())


def _check_curves(plot: Plot, runs: Sequence[RunData]) -> None:
    """Refuse a requested figure over time that has no curve. Raises InputError. A figure of the
    workflow is not refused: it is drawn and says so, because the run is over when that is known."""
    spec = plot.spec
    if any(point.curve(spec.metric, plot.centre) for point in plot.points):
        return
    with_steps = {r.label for run in runs for r in run.trials if r.series_step_s is not None}
    kinds = [kind for kind in get_args(FigureKind) if kind != "time"]
    raise InputError(
        f"the figure {spec.name!r} has no curve over time: the trials of {spec.probe!r} kept no "
        f"values of {spec.metric} in even steps of time, or steps that differ",
        where="--kind",
        allowed=", ".join(k for k in kinds if not (spec.lines and k in DISTRIBUTIONS)),
        hint=f"with --probe, there are curves of {listing(with_steps)}" if with_steps else None,
    )


def _check_name(spec: FigureSpec) -> None:
    """Refuse a figure whose name cannot be part of a file name. Raises InputError."""
    # The name becomes a file name, also in LaTeX.
    if not re.fullmatch(r"\w[\w .+,=-]*", spec.name):
        raise InputError(
            f"the figure name {spec.name!r} is not a plain file name",
            where="/figures",
            allowed="letters, digits and `_ - + . , =`",
        )


def _included(name: str, layout: FigureLayout) -> str:
    """Return the file that LaTeX includes: PDF, or PNG if only that is written. LaTeX does not read
    SVG, so for SVG alone it is the name of the PDF that the user converts it to."""
    ending = next((known for known in ("pdf", "png") if known in layout.formats), "pdf")
    return f"{name}.{ending}"
