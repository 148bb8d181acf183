"""Which figures to draw: those of the workflow, automatic ones, or one made on request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from sfcperf.errors import InputError
from sfcperf.figures.plot import VARIANT
from sfcperf.figures.results import RUN, Results
from sfcperf.figures.run_data import RunData
from sfcperf.presentation import units
from sfcperf.presentation.levels import Levels, axis_levels, by_metric, is_number, varying
from sfcperf.results.records import Summary
from sfcperf.results.tables import factor_names
from sfcperf.workflow.document import did_you_mean, listing
from sfcperf.workflow.model import DISTRIBUTIONS, FigureKind, FigureSpec

Centre = Literal["mean", "median"]
FITTED = ("line", "bar")
"""Kinds that show a fitted line."""
CENTRED = (*FITTED, "time")
"""Kinds that show a centre of choice."""


@dataclass(frozen=True)
class FigureRequest:
    """Figures as requested on the command line. None leaves an attribute as the figure has it, or
    to the automatic choice."""

    figures: tuple[str, ...] = ()
    """Names of figures of the workflow, or of automatic ones (PROBE-METRIC)."""
    metric: str | None = None
    probe: str | None = None
    x: str | None = None
    series: str | None = None
    kind: str | None = None
    """Kind of figure, named as in the workflow's figures."""
    centre: str | None = None
    """`mean` or `median`."""


def chosen_figures(
    runs: Sequence[RunData],
    results: Results,
    request: FigureRequest,
    others: Sequence[str] = (),
) -> list[FigureSpec]:
    """Choose the figures to draw: one of `request.metric` or `request.probe` if either is given;
    else those of `request.figures`; else the workflow's (of many runs those of the first run that
    has any); else an automatic one per primary metric. The other attributes of the request change
    each of them. `others`: names of figures that the caller draws, which messages list as well.

    Raises InputError, naming what there is.
    """
    if not results.summaries:
        raise InputError(
            "there are no results to draw",
            where=", ".join(run.store.run_id for run in runs),
            hint="`sfcperf report RUN` analyses a run that was interrupted",
        )
    own = list(next((run.figures for run in runs if run.figures), ()))
    defaults = automatic(results.summaries, results.scenarios)
    if request.metric is not None or request.probe is not None:
        figures = [_requested(results.summaries, defaults, request)]
    elif request.figures:
        figures = [_named(name, own, defaults, others) for name in request.figures]
    else:
        primary = {(row.label, row.metric) for row in results.summaries if row.primary}
        figures = own or [f for f in defaults if (f.probe, f.metric) in primary] or defaults
    return [_changed(figure, request, results, many=len(runs) > 1) for figure in figures]


def automatic(summaries: Sequence[Summary], scenarios: Sequence[Levels]) -> list[FigureSpec]:
    """Make a figure for each metric of each probe. On the x axis is the first numeric factor that
    varies (else the first that varies); another one makes the series. Runs and variants are what is
    compared, so they are the series unless nothing else varies."""
    changing = varying(scenarios)
    compared = [name for name in (RUN, VARIANT) if name in changing]
    free = [name for name in changing if name not in compared]
    numeric = [f for f in free if all(is_number(v) for v in axis_levels(f, scenarios))]
    x = next(iter([*numeric, *free, *compared, *factor_names(scenarios)]), "")
    series = next((name for name in [*compared, *free] if name != x), None)
    return [_of_metric(rows, x, series) for rows in by_metric(summaries).values()]


def _of_metric(rows: Sequence[Summary], x: str, series: str | None) -> FigureSpec:
    """Make the figure of a metric against a factor, in a unit in which its largest value reads
    between 1 and 1000."""
    row = rows[-1]
    shown = [found for r in rows for found in (r.estimate().value, r.estimate().high)]
    values = [value for value in shown if value is not None]
    scale = units.scale_for(values, row.unit, row.metric)
    title = units.metric_title(row.metric)
    return FigureSpec(
        name=f"{row.label}-{row.metric}",
        title=f"{row.label}: {title}",
        probe=row.label,
        metric=row.metric,
        x=x,
        series=series,
        x_label="",
        y_label="",
        y_scale=scale.factor,
        fit="none",
    )


def _named(
    name: str, own: Sequence[FigureSpec], defaults: Sequence[FigureSpec], others: Sequence[str]
) -> FigureSpec:
    """Find a figure by its name: one of the workflow (`own`), or an automatic one (`defaults`).
    Raises InputError, listing all names and those of `others`, if there is none."""
    known = [*(figure.name for figure in (*own, *defaults)), *others]
    _check_known("--figure", "there is no figure", name, known)
    return {figure.name: figure for figure in (*defaults, *own)}[name]


def _requested(
    rows: Sequence[Summary], defaults: Sequence[FigureSpec], request: FigureRequest
) -> FigureSpec:
    """Find the automatic figure of the requested metric; of a probe alone, that of its first
    primary metric. Raises InputError if several probes have the metric."""
    of_probe = _rows_of("--probe", request.probe, rows, lambda row: row.label)
    found = _rows_of("--metric", request.metric, of_probe, lambda row: row.metric)
    metric = request.metric or next((r.metric for r in found if r.primary), found[0].metric)
    labels = sorted({row.label for row in found})
    if len(labels) > 1:
        raise InputError(
            f"{len(labels)} probes have the metric {metric!r}",
            where="--probe",
            allowed=listing(labels),
        )
    return next(f for f in defaults if (f.probe, f.metric) == (labels[0], metric))


def _rows_of(
    option: str, value: str | None, rows: Sequence[Summary], of: Callable[[Summary], str]
) -> list[Summary]:
    """Return the rows for which `of` gives `value`; all rows if `value` is None, because the option
    was not given. Raises InputError, naming the option, if there are none."""
    _check_known(option, "there are no results of", value, dict.fromkeys(map(of, rows)))
    return [row for row in rows if value in (None, of(row))]


def _check_known(option: str, problem: str, name: str | None, known: Collection[str]) -> None:
    """Refuse a name that is not among those known; None, for an option that was not given, passes.
    Raises InputError."""
    if name is not None and name not in known:
        raise InputError(
            f"{problem} {name!r}",
            where=option,
            allowed=listing(known),
            hint=did_you_mean(name, known),
        )


def _changed(
    figure: FigureSpec, request: FigureRequest, results: Results, *, many: bool
) -> FigureSpec:
    """Change a figure as the request says. A fitted line is kept only if the kind shows one and the
    x axis stays the same and is numeric. A figure that was changed gets another name. `many`:
    whether there are several runs, which are then the series unless the request names another or
    they are on the x axis."""
    factors = factor_names(results.scenarios)
    for option, name in (("--x", request.x), ("--series", request.series)):
        _check_known(option, "there is no factor", name, factors)
    x = request.x or _axis(figure, results)
    series = request.series or (RUN if many and x != RUN else figure.series)
    if request.x is not None and series == x:
        series = None
    if request.series is not None and request.series == x:
        raise InputError("this factor is on the x axis already", where="--series")
    kind = cast("FigureKind", request.kind) or figure.kind
    numeric = all(map(is_number, axis_levels(x, results.scenarios)))
    wanted_centre = figure.centre
    centre = cast("Centre", request.centre) or (wanted_centre if kind in CENTRED else None)
    figure = replace(
        figure,
        x=x,
        series=series,
        x_label=figure.x_label if x == figure.x else "",
        kind=kind,
        fit=figure.fit if x == figure.x and kind in FITTED and numeric else "none",
        centre=centre,
    )
    if request.x or request.series or request.kind or centre != wanted_centre:
        figure = replace(figure, name=_name(figure, request))
    _check(figure)
    return figure


def _axis(figure: FigureSpec, results: Results) -> str:
    """Return the factor on the x axis: the figure's own, or the run if runs differ in nothing
    else."""
    changing = varying(results.scenarios)
    return RUN if changing == [RUN] else figure.x


def _name(figure: FigureSpec, request: FigureRequest) -> str:
    """Return a file name that differs from that of the unchanged figure, which may exist too."""
    parts = [
        figure.name,
        request.kind,
        request.centre,
        request.x and f"by-{request.x}",
        request.series and f"per-{request.series}",
    ]
    return "-".join(part for part in parts if part)


def _check(figure: FigureSpec) -> None:
    """Refuse a figure whose kind cannot show what it asks for. Raises InputError."""
    if figure.centre is not None and figure.kind not in CENTRED:
        raise InputError(
            f"a figure of kind {figure.kind!r} draws the trials, not their {figure.centre}",
            where="--centre",
            allowed=f"with {listing(CENTRED)}",
        )
    if figure.kind == "time" and any(line.source for line in figure.lines):
        raise InputError(
            f"the figure {figure.name!r} has lines of monitors: a figure of kind 'time' draws "
            "metrics of probes",
            where="--kind",
            allowed="line, bar, box",
        )
    if figure.lines and figure.kind in DISTRIBUTIONS:
        raise InputError(
            f"the figure {figure.name!r} has several quantities: it draws no distributions",
            where="--kind",
            allowed="line, bar, box, time",
        )
