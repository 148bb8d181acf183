"""Which figures to draw: those of the workflow, automatic ones, or one put together on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from sfcperf.errors import InputError
from sfcperf.figures.estimate import Centre
from sfcperf.figures.plot import RUN, automatic
from sfcperf.figures.run_data import Results, RunData
from sfcperf.presentation.levels import axis_levels, is_number, varying
from sfcperf.results.records import Summary
from sfcperf.workflow.findings import did_you_mean, listing
from sfcperf.workflow.model import FigureSpec

Kind = Literal["line", "bar", "box", "ecdf"]
Fit = Literal["none", "linear"]
FITTED = ("line", "bar")
"""Kinds that show a fitted line, and a centre of choice."""


@dataclass(frozen=True)
class Wish:
    """A figure as asked for on the command line; None: as it is, or automatic."""

    metric: str | None = None
    probe: str | None = None
    x: str | None = None
    series: str | None = None
    kind: str | None = None
    """As in the workflow's figures."""
    fit: str | None = None
    centre: str | None = None
    title: str | None = None
    name: str | None = None


def chosen_figures(
    runs: Sequence[RunData], results: Results, names: Sequence[str], wish: Wish
) -> list[FigureSpec]:
    """The figures to draw: one of `wish.metric` when that is given; else those of `names`; else
    the workflow's (of many runs the first that has any); else an automatic one per primary metric.
    What else the wish says changes each of them.

    Raises InputError, naming what there is.
    """
    if not results.summaries:
        raise InputError(
            "there are no results to draw",
            where=", ".join(run.store.run_id for run in runs),
            hint="`sfcperf report RUN` analyses a run that was interrupted",
        )
    asked = list(next((run.figures for run in runs if run.figures), ()))
    free = automatic(results.summaries, results.scenarios)
    if wish.metric is not None or wish.probe is not None:
        figures = [_of_metric(results.summaries, free, wish)]
    elif names:
        figures = [_named(name, asked, free) for name in names]
    else:
        primary = {(row.label, row.metric) for row in results.summaries if row.primary}
        figures = asked or [f for f in free if (f.probe, f.metric) in primary] or free
    return [_changed(figure, wish, results, many=len(runs) > 1) for figure in figures]


def _named(name: str, asked: Sequence[FigureSpec], free: Sequence[FigureSpec]) -> FigureSpec:
    figures = {figure.name: figure for figure in (*free, *asked)}
    if name not in figures:
        raise InputError(
            f"there is no figure {name!r}",
            where="--figure",
            allowed=listing([f.name for f in (*asked, *free)]),
            hint=did_you_mean(name, figures),
        )
    return figures[name]


def _of_metric(rows: Sequence[Summary], free: Sequence[FigureSpec], wish: Wish) -> FigureSpec:
    of_probe = _one("--probe", wish.probe, rows, lambda row: row.label)
    found = _one("--metric", wish.metric, of_probe, lambda row: row.metric)
    metric = wish.metric or next((r.metric for r in found if r.primary), found[0].metric)
    labels = sorted({row.label for row in found})
    if len(labels) > 1:
        raise InputError(
            f"{len(labels)} probes have the metric {metric!r}",
            where="--probe",
            allowed=listing(labels),
        )
    return next(f for f in free if (f.probe, f.metric) == (labels[0], metric))


def _one(
    option: str, value: str | None, rows: Sequence[Summary], of: Callable[[Summary], str]
) -> list[Summary]:
    """Rows of a value; all without one."""
    there = list(dict.fromkeys(map(of, rows)))
    if value is not None and value not in there:
        raise InputError(
            f"there are no results of {value!r}",
            where=option,
            allowed=listing(there),
            hint=did_you_mean(value, there),
        )
    return [row for row in rows if value in (None, of(row))]


def _changed(figure: FigureSpec, wish: Wish, results: Results, *, many: bool) -> FigureSpec:
    factors = list(dict.fromkeys(f for levels in results.scenarios for f in levels))
    for option, name in (("--x", wish.x), ("--series", wish.series)):
        if name is not None and name not in factors:
            raise InputError(
                f"there is no factor {name!r}",
                where=option,
                allowed=listing(factors),
                hint=did_you_mean(name, factors),
            )
    x = wish.x or _axis(figure, results)
    series = wish.series or (RUN if many and x != RUN else figure.series)
    if wish.x is not None and series == x:
        series = None
    if wish.series is not None and wish.series == x:
        raise InputError("this factor is on the x axis already", where="--series")
    kind = cast("Kind", wish.kind) or figure.kind
    fit = figure.fit if x == figure.x and kind in FITTED else "none"
    given = figure.centre
    centre = cast("Centre", wish.centre) or (given if kind in FITTED else "mean")
    figure = replace(
        figure,
        x=x,
        series=series,
        x_label=figure.x_label if x == figure.x else x.replace("_", " "),
        kind=kind,
        fit=cast("Fit", wish.fit) or fit,
        centre=centre,
        title=wish.title or figure.title,
        name=wish.name or figure.name,
    )
    if wish.x or wish.series or wish.kind or centre != given:
        figure = figure if wish.name else replace(figure, name=_name(figure, wish))
    _check(figure, results)
    return figure


def _axis(figure: FigureSpec, results: Results) -> str:
    """The figure's own axis; runs that differ in nothing else stand on it themselves."""
    changing = varying(results.scenarios)
    return RUN if changing == [RUN] else figure.x


def _name(figure: FigureSpec, wish: Wish) -> str:
    """A file name that does not take that of the figure as it is."""
    parts = [
        figure.name,
        wish.kind,
        wish.centre,
        wish.x and f"by-{wish.x}",
        wish.series and f"per-{wish.series}",
    ]
    return "-".join(part for part in parts if part)


def _check(figure: FigureSpec, results: Results) -> None:
    if figure.centre == "median" and figure.kind not in FITTED:
        raise InputError(
            f"a figure of kind {figure.kind!r} draws no medians",
            where="--centre",
            allowed=f"with {listing(FITTED)}",
        )
    if figure.lines and figure.kind == "ecdf":
        raise InputError(
            f"the figure {figure.name!r} has several quantities: it draws no distributions",
            where="--kind",
            allowed="line, bar, box",
        )
    if figure.fit != "linear":
        return
    if figure.lines:
        raise InputError(
            f"the figure {figure.name!r} has several quantities: no line is fitted to it",
            where="--fit",
        )
    levels = axis_levels(figure.x, results.scenarios)
    if not all(is_number(level) for level in levels):
        raise InputError(
            f"a line cannot be fitted: levels of {figure.x!r} are not all numbers", where="--fit"
        )
    if figure.kind not in FITTED:
        raise InputError(
            f"a figure of kind {figure.kind!r} has no fitted line",
            where="--fit",
            allowed=f"with {listing(FITTED)}",
        )
