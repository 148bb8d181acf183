"""Lines fitted to the trials of a figure, per series: is RTT against chain length linear?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sfcperf.analysis.planned import rules_of
from sfcperf.analysis.statistics import fit_line
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.workflow.model import FigureSpec


@dataclass(frozen=True)
class LineFit:
    """The least-squares line of one series of a figure.

    In the metric's own unit: multiply slope and intercept by the figure's `y_scale` to draw.
    """

    figure: str
    series: Any
    """Level of the series' factor; None if the figure has one line."""
    slope: float
    """Metric's unit per unit of the factor on the x axis."""
    intercept: float
    """Metric's unit."""
    r_squared: float | None
    """R^2 of the line through the trials. None if it is undefined: y does not vary, or there are
    only two points."""
    r_squared_means: float | None
    """R^2 of a line through the means at each x, as papers draw it. It shows whether the relation
    is linear; that of the trials also shows how much single trials scatter around the line."""
    slope_low: float | None
    """Low end of the slope's confidence interval; None, like `slope_high`, for n < 3, and if a
    single round or trial decides whether there is a slope."""
    slope_high: float | None
    confidence: float
    n: int
    """Number of trials; each valid trial is one point."""


def fit_lines(
    store: RunStore, figure: FigureSpec, trials: Iterable[TrialRecord] | None = None
) -> list[LineFit]:
    """Fit a line to the trials of each series, in the order in which scenarios were expanded.
    `trials`: those of the store, if they have been read already.

    Empty if the figure requests no fit. A series whose valid trials have fewer than two values of x
    is left out. Levels of factors that are neither x nor series are pooled. The line goes through
    trials, because a fit of means leaves out their dispersion and overstates R^2; both are given.
    Trials of one round may share a disturbance, so the slope's interval takes rounds as its units.
    Raises InputError if the factor on the x axis has levels that are not numbers.
    """
    if figure.fit != "linear":
        return []
    confidence = rules_of(store).confidence
    fits = []
    for level, x, y, rounds in _points_by_series(
        store.trials() if trials is None else trials, figure
    ):
        line = fit_line(x, y, confidence, rounds)
        if line is None:
            continue
        interval = line.slope_interval
        fits.append(
            LineFit(
                figure=figure.name,
                series=level,
                slope=line.slope,
                intercept=line.intercept,
                r_squared=line.r_squared,
                r_squared_means=_r_squared_of_means(x, y, confidence),
                slope_low=interval.low if interval else None,
                slope_high=interval.high if interval else None,
                confidence=confidence,
                n=line.n,
            )
        )
    return fits


def _r_squared_of_means(x: list[float], y: list[float], confidence: float) -> float | None:
    """Return R^2 of the line through the mean of y at each x; None if it is undefined."""
    levels = sorted(set(x))
    means = [fmean(b for a, b in zip(x, y, strict=True) if a == level) for level in levels]
    line = fit_line(levels, means, confidence)
    return None if line is None else line.r_squared


def _points_by_series(
    trials: Iterable[TrialRecord], figure: FigureSpec
) -> list[tuple[Any, list[float], list[float], list[int]]]:
    """Return for each series its level, and x, y and the round of each trial. Series and trials are
    in the order of scenarios, then of rounds."""
    series: dict[str, tuple[Any, list[float], list[float], list[int]]] = {}
    records = [r for r in trials if r.label == figure.probe and r.status == "valid"]
    for record in sorted(records, key=lambda r: (r.scenario_id, r.round)):
        value = trial_means(record).get(figure.metric)
        if value is None:
            continue
        level = record.scenario.get(figure.series) if figure.series else None
        # The key is JSON text, because 1, 1.0 and True are one key to Python but different levels.
        key = json.dumps(level, sort_keys=True)
        _, x, y, rounds = series.setdefault(key, (level, [], [], []))
        x.append(_number(record.scenario.get(figure.x), figure))
        y.append(value)
        rounds.append(record.round)
    return list(series.values())


def _number(level: Any, figure: FigureSpec) -> float:
    """Return a level of the x axis as a float. Raises InputError if it is not a number; true and
    false are none."""
    if isinstance(level, bool) or not isinstance(level, int | float):
        raise InputError(
            f"figure {figure.name!r} requests a linear fit against {figure.x!r}, "
            f"whose level {level!r} is not a number",
            allowed="a factor whose levels are all numbers",
            hint='set "fit": "none" in this figure',
        )
    return float(level)
