"""`sfcperf figures RUN...`: figures for a paper, with data and LaTeX."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import (
    LATEST,
    RESULTS,
    LabelOption,
    ResultsOption,
    RunsArgument,
    output_option,
)
from sfcperf.errors import InputError


class Kind(StrEnum):
    """How a figure is drawn."""

    LINE = "line"
    BAR = "bar"
    BOX = "box"
    ECDF = "ecdf"
    ECDF_TRIALS = "ecdf-trials"
    TIME = "time"


class Centre(StrEnum):
    """What points and bars stand for."""

    MEAN = "mean"
    MEDIAN = "median"


def figures(
    runs: RunsArgument = None,
    style: Annotated[
        str, typer.Option("--style", metavar="STYLE", help="paper (IEEE), acm or slides.")
    ] = "paper",
    width: Annotated[
        str,
        typer.Option("--width", metavar="WIDTH", help="column, page, or a number of millimetres."),
    ] = "column",
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="File formats, comma-separated.")
    ] = "svg,pdf,png",
    output: Annotated[
        Path | None,
        output_option(
            "Folder to write to [default: figures/, in the folder of a single run or here].",
            metavar="DIR",
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Draw this figure of the workflow, PROBE-METRIC, attribution-PROBE, or "
            "throughput-PROBE-loss. Repeatable "
            "[default: all of the workflow, or else one per primary metric].",
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Draw a figure of this metric.")
    ] = None,
    probe: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Draw a figure of this probe.")
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            "--x", metavar="FACTOR", help="Factor on the x axis (`run`: the runs themselves)."
        ),
    ] = None,
    series: Annotated[
        str | None, typer.Option(metavar="FACTOR", help="Factor that distinguishes the lines.")
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="Kind of figure. ecdf: distribution of all samples; ecdf-trials: of the trials' "
            "means; time: within the trials."
        ),
    ] = None,
    centre: Annotated[
        Centre | None,
        typer.Option(
            help="What points and bars show [default: the figure's own, or what the run declares]."
        ),
    ] = None,
    label: LabelOption = None,
    note: Annotated[
        bool,
        typer.Option(
            "--note/--no-note",
            help="Whether a note below the figure explains its error bars; the caption in the .tex "
            "file always does.",
        ),
    ] = True,
    results: ResultsOption = RESULTS,
) -> None:
    """Draw the figures of one run, or of several, for a paper. Several runs become series of one
    figure. Prints the files' paths.

    Each figure comes with NAME.csv (means or medians, intervals), NAME.trials.csv (every trial) and
    NAME.tex (LaTeX with the caption). The same results give the same bytes.
    """
    from sfcperf.cli.inputs import open_runs
    from sfcperf.cli.terminal.lines import say
    from sfcperf.figures.figure_files import write_figures
    from sfcperf.figures.layout import FORMATS, FigureLayout, page_style
    from sfcperf.figures.selection import FigureRequest

    wanted = [part.strip().lower() for part in formats.split(",") if part.strip()]
    if not wanted or any(part not in FORMATS for part in wanted):
        raise InputError(f"{formats!r} is not a list of formats", where="--format",
                         allowed=", ".join(FORMATS))  # fmt: skip
    look = page_style(style)
    layout = FigureLayout(look, look.width_mm(width), tuple(dict.fromkeys(wanted)), note)
    data = open_runs(runs or [LATEST], results, label)
    for run in data:
        if run.workflow_problem:
            # Said on stderr, before the paths on stdout, which other programs may read.
            say(f"{run.label}: the figures of its workflow are unavailable: {run.workflow_problem}")
    request = FigureRequest(
        tuple(figure or ()),
        metric=metric,
        probe=probe,
        x=x,
        series=series,
        kind=kind and kind.value,
        centre=centre and centre.value,
    )
    if output is None:
        has_place = len(data) == 1 and not data[0].store.is_read_only
        output = data[0].store.figures / layout.folder_name if has_place else Path("figures")
    for path in write_figures(data, request, layout, output):
        print(path)
