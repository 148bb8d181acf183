"""Figures of one run or of many, in any style, with the LaTeX that includes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.errors import InputError
from sfcperf.figures.attribution_figure import write_attribution
from sfcperf.figures.figure_files import file_name, fits_of, write_figure
from sfcperf.figures.fits import fits_by_series
from sfcperf.figures.latex import latex
from sfcperf.figures.notes import note
from sfcperf.figures.page_styles import FORMATS, STYLES, PageStyle
from sfcperf.figures.plot import RUN, Plot
from sfcperf.figures.run_data import RunData, resolve_figure, side_by_side
from sfcperf.figures.selection import Wish, chosen_figures
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.levels import varying
from sfcperf.results.store import replace_file

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit


@dataclass(frozen=True)
class Page:
    """How figures are set."""

    style: PageStyle = STYLES["paper"]
    width_mm: float = STYLES["paper"].column_mm
    formats: Sequence[str] = FORMATS
    with_note: bool = True

    @property
    def folder_name(self) -> str:
        """Folder for figures that are not set as those of the run folder are; empty for those."""
        if self == Page(formats=self.formats):
            return ""
        note = "" if self.with_note else "-no-note"
        return f"{self.style.name}-{self.width_mm:g}mm{note}"


def write_figures(
    runs: Sequence[RunData], names: Sequence[str], wish: Wish, page: Page, folder: Path
) -> list[Path]:
    """Draw the chosen figures (sfcperf.figures.selection) into `folder`, each with its
    data as CSV and its LaTeX; of one run also its attribution, when nothing is chosen. Gives the
    files. Raises InputError."""
    results = side_by_side(runs)
    index = TrialIndex(results.trials)
    files = []
    specs = chosen_figures(runs, results, names, wish)
    for spec in specs:
        file_name(spec)
    _make(folder)
    for spec in specs:
        plot = resolve_figure(runs, results, spec, index)
        fits = _fits(runs, plot)
        files += write_figure(
            plot, fits, folder, page.formats,
            style=page.style, width_mm=page.width_mm, with_note=page.with_note,
        )  # fmt: skip
        text = latex(
            _included(spec.name, page.formats),
            spec.title,
            note(plot, fits),
            page.style,
            page.width_mm,
        )
        replace_file(snippet := folder / f"{spec.name}.tex", text)
        files.append(snippet)
    if len(runs) == 1 and not names and wish == Wish():
        files += write_attribution(
            runs[0].store, folder, page.formats,
            style=page.style, width_mm=page.width_mm, with_note=page.with_note,
        )  # fmt: skip
    return files


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"this folder cannot be made: {error.strerror}", where=str(folder)
        ) from error


def _included(name: str, formats: Sequence[str]) -> str:
    """The file that LaTeX includes: it reads PDF and PNG, and SVG once that is converted."""
    ending = next((known for known in ("pdf", "png") if known in formats), "pdf")
    return f"{name}.{ending}"


def _fits(runs: Sequence[RunData], plot: Plot) -> dict[str, LineFit]:
    """Name of a series -> its line; each run is fitted by itself."""
    if len(runs) == 1:
        return fits_by_series(plot, fits_of(runs[0].store, plot.spec, runs[0].trials))
    factor = _second_factor(plot)
    spec = replace(plot.spec, series=factor)
    found: dict[str, LineFit] = {}
    for run in runs:
        fits = fits_of(run.store, spec, run.trials)
        found |= fits_by_series(plot, fits, factor or "", run.label)
    return found


def _second_factor(plot: Plot) -> str | None:
    """The factor that tells the lines of one run apart."""
    scenarios = [point.scenario for point in plot.points]
    return next((f for f in varying(scenarios) if f not in (RUN, plot.spec.x)), None)
