"""`sfcperf figures RUN...`: figures for a paper, with data and LaTeX beside them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, ResultsOption, RunsArgument


class Kind(StrEnum):
    """How a figure is drawn."""

    LINE = "line"
    BAR = "bar"
    BOX = "box"
    ECDF = "ecdf"


class Centre(StrEnum):
    """What points and bars stand for."""

    MEAN = "mean"
    MEDIAN = "median"


class Fit(StrEnum):
    """Lines fitted to the trials."""

    NONE = "none"
    LINEAR = "linear"


LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="RUN=TEXT",
        help="Name of a run: A=before for the first, B=... for the second, or by run id.",
    ),
]


def figures(
    runs: RunsArgument,
    style: Annotated[
        str, typer.Option("--style", metavar="STYLE", help="paper (IEEE), acm or slides.")
    ] = "paper",
    width: Annotated[
        str, typer.Option("--width", metavar="WIDTH", help="column, page, or millimetres.")
    ] = "column",
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="File formats, separated by commas.")
    ] = "svg,pdf,png",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder to write to [default: figures in the run folder, or here for many runs].",
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="A figure of the workflow, or PROBE-METRIC; may be repeated "
            "[default: the workflow's, else one per primary metric].",
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="A figure of this metric.")
    ] = None,
    probe: Annotated[
        str | None, typer.Option(metavar="LABEL", help="A figure of this probe.")
    ] = None,
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="FACTOR", help="On the x axis (`run`: the runs themselves)."),
    ] = None,
    series: Annotated[
        str | None, typer.Option(metavar="FACTOR", help="What tells the lines apart.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="How it is drawn.")] = None,
    centre: Annotated[
        Centre | None,
        typer.Option(help="What points and bars stand for [default: the figure's, else mean]."),
    ] = None,
    fit: Annotated[Fit | None, typer.Option(help="Lines fitted to the trials.")] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title, for the caption.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="File name of the figure, without ending.")
    ] = None,
    label: LabelOption = None,
    note: Annotated[
        bool,
        typer.Option(
            "--note/--no-note",
            help="Whether the figure says below what its error bars are; the caption in the .tex "
            "file does in any case.",
        ),
    ] = True,
    results: ResultsOption = RESULTS,
) -> None:
    """Draw the figures of a run, or of many runs as series, for a paper; print the files' paths.

    Beside each figure: NAME.csv (means or medians, intervals), NAME.trials.csv (every trial),
    NAME.tex (LaTeX with the caption). The same results give the same bytes.
    """
    from sfcperf.cli.labels import open_runs
    from sfcperf.cli.progress import say
    from sfcperf.errors import InputError
    from sfcperf.figures import FORMATS, FigureLayout, FigureRequest, page_style, write_figures

    wanted = [part.strip().lower() for part in formats.split(",") if part.strip()]
    if not wanted or any(part not in FORMATS for part in wanted):
        raise InputError(f"{formats!r} is not a list of formats", where="--format",
                         allowed=", ".join(FORMATS))  # fmt: skip
    look = page_style(style)
    layout = FigureLayout(look, look.width_mm(width), tuple(dict.fromkeys(wanted)), note)
    data = open_runs(runs, results, label)
    for run in data:
        if run.workflow_problem:
            # Before the paths, which other programs may read.
            say(f"{run.label}: its own figures are not known here: {run.workflow_problem}")
    drawn = {
        "kind": kind and kind.value,
        "fit": fit and fit.value,
        "centre": centre and centre.value,
    }
    request = FigureRequest(
        tuple(figure or ()),
        metric=metric,
        probe=probe,
        x=x,
        series=series,
        title=title,
        name=name,
        **drawn,
    )
    if output is None:
        output = data[0].store.figures / layout.folder_name if len(data) == 1 else Path("figures")
    for path in write_figures(data, request, layout, output):
        print(path)
