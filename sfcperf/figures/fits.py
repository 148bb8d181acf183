"""Lines fitted to the trials of a figure, the series that each belongs to, and their legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfcperf.figures.plot import Plot
from sfcperf.figures.results import RUN
from sfcperf.figures.run_data import RunData
from sfcperf.presentation.levels import varying
from sfcperf.workflow.model import FigureSpec

if TYPE_CHECKING:
    from sfcperf.analysis.fits import LineFit


def fitted_lines(runs: Sequence[RunData], plot: Plot) -> dict[str, LineFit]:
    """Map the name of each series to its fitted line. Each run is fitted by itself. Empty if the
    figure asks for no fit."""
    if plot.spec.fit == "none":
        return {}
    if len(runs) == 1:
        return fits_by_series(plot, _fits(runs[0], plot.spec))
    factor = _second_factor(plot)
    # Trials of one run lack the factor `run`, so its lines are told apart by the factor besides it.
    spec = replace(plot.spec, series=factor)
    found: dict[str, LineFit] = {}
    for run in runs:
        found |= fits_by_series(plot, _fits(run, spec), factor or "", run.label)
    return found


def fits_by_series(
    plot: Plot, fits: Sequence[LineFit], factor: str | None = None, run: str | None = None
) -> dict[str, LineFit]:
    """Map the name of a series to its fitted line.

    A fit pools the levels of factors that neither axis nor series names. If several series share
    one, it is given to the first of them. `factor` is the factor by which the fits were made (None:
    the figure's `series`; empty: no factor). `run` is the label of the fits' run in a figure over
    many runs, else None.
    """
    if factor is None:
        factor = plot.spec.series
    by_name: dict[str, LineFit] = {}
    for fit in fits:
        for series in plot.series:
            scenario = series.points[0].scenario
            same = not factor or scenario.get(factor) == fit.series
            if same and (run is None or scenario.get(RUN) == run):
                by_name[series.name] = fit
                break
    return by_name


def fit_text(fit: LineFit) -> str:
    """Say how well the line fits, for a legend."""
    if fit.r_squared is None:
        return f"fit over {fit.n} trials, R² undefined"
    of_trials = f"R² = {_three_digits(fit.r_squared)}"
    if fit.r_squared_means is None:
        return of_trials
    return f"{of_trials}, of means {_three_digits(fit.r_squared_means)}"


def _fits(run: RunData, spec: FigureSpec) -> list[LineFit]:
    """Fit lines to the trials of one run."""
    from sfcperf.analysis.fits import fit_lines

    return fit_lines(run.store, spec, run.trials)


def _second_factor(plot: Plot) -> str | None:
    """Return the first factor that varies besides the x axis and the run, which distinguishes the
    lines of one run; None if there is none."""
    scenarios = [point.scenario for point in plot.points]
    return next((f for f in varying(scenarios) if f not in (RUN, plot.spec.x)), None)


def _three_digits(r_squared: float) -> str:
    """Return an R² with three decimal places; above 0.999 with four."""
    return f"{r_squared:.4f}" if r_squared > 0.999 else f"{r_squared:.3f}"
