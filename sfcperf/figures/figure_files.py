"""The figures of a run, for a paper: SVG, PDF and PNG, with their data as CSV beside them.

The workflow's figures, in the style of a two-column paper, are what the run folder's `figures/`
holds; `sfcperf figures` draws these and others, of one run or of many, in any style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.errors import InputError
from sfcperf.figures.csv_tables import data_csv, samples_csv, trials_csv
from sfcperf.figures.drawing import draw
from sfcperf.figures.fits import fits_by_series
from sfcperf.figures.line_results import resolve_lines
from sfcperf.figures.page_styles import FORMATS, STYLES, PageStyle
from sfcperf.figures.plot import Plot, resolve
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore, replace_file
from sfcperf.workflow.model import FigureSpec, Workflow

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit

__all__ = ["FORMATS", "draw_figures", "fits_of", "resolve_figures", "write_figure"]


def draw_figures(run: RunStore, workflow: Workflow, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw every figure of the workflow into the run's `figures/`; gives the files.

    Raises InputError when a figure's name is not a plain file name.
    """
    if not workflow.figures:
        return []
    trials = run.trials()
    figures = resolve_figures(run, workflow, run.summaries(), trials, TrialIndex(trials))
    return [path for figure in figures for path in write_figure(*figure, run.figures, formats)]


def resolve_figures(
    run: RunStore,
    workflow: Workflow,
    summaries: Sequence[Summary],
    trials: Sequence[TrialRecord],
    index: TrialIndex,
) -> list[tuple[Plot, dict[str, LineFit]]]:
    """The workflow's figures with their fitted lines, from what was read of the run; `index` knows
    its trials, and learns those of figures with lines."""
    scenarios = [scenario.levels for scenario in workflow.scenarios]
    plots = [
        resolve_lines(run, spec, trials, scenarios, index)
        if spec.lines
        else resolve(spec, summaries, scenarios, index)
        for spec in workflow.figures
    ]
    return [(plot, fits_by_series(plot, fits_of(run, plot.spec, trials))) for plot in plots]


def write_figure(
    plot: Plot,
    fits: Mapping[str, LineFit],
    folder: Path,
    formats: Sequence[str] = FORMATS,
    *,
    style: PageStyle = STYLES["paper"],
    width_mm: float | None = None,
    with_note: bool = True,
) -> list[Path]:
    """Draw a figure into a folder, with the CSV files of its points and trials (of a distribution
    also of its samples) beside it; gives the files."""
    target = folder / file_name(plot.spec)
    folder.mkdir(parents=True, exist_ok=True)
    files = draw(plot, fits, target, formats, style=style, width_mm=width_mm, with_note=with_note)
    tables = {".csv": data_csv(plot), ".trials.csv": trials_csv(plot)}
    if plot.spec.kind == "ecdf":
        tables[".samples.csv"] = samples_csv(plot)
    for ending, text in tables.items():
        replace_file(table := target.with_name(target.name + ending), text)
        files.append(table)
    return files


def fits_of(
    run: RunStore, spec: FigureSpec, trials: Sequence[TrialRecord] | None = None
) -> list[LineFit]:
    """Fitted lines of a figure, none when it asks for none; `trials` as in `fit_lines`."""
    if spec.fit == "none":
        return []
    from sfcperf.analysis.fits import fit_lines

    return fit_lines(run, spec, trials)


def file_name(spec: FigureSpec) -> str:
    """Name of a figure's files, without ending. Raises InputError when it leaves its folder."""
    if spec.name in ("", ".", "..") or Path(spec.name).name != spec.name:
        raise InputError(
            f"the figure name {spec.name!r} is not a plain file name",
            where="/figures",
            allowed="letters, digits, `-` and `_`",
        )
    return spec.name
