"""`sfcperf export RUN`: all samples of a run in one flat table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, ResultsOption, RunArgument


class Format(StrEnum):
    """File formats of exports."""

    CSV = "csv"
    PARQUET = "parquet"


def export(
    run: RunArgument,
    format_: Annotated[Format, typer.Option("--format", help="File format.")] = Format.CSV,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write [default: samples.csv or samples.parquet in the run folder].",
        ),
    ] = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Write the samples of a run as CSV or Parquet. Each sample is a row, with its trial and
    factor levels. Telemetry and flows, if any, go to files next to it. Prints the files'
    paths."""
    from sfcperf.cli.inputs import open_run
    from sfcperf.results.export import export as write_export

    store = open_run(run, results)
    target = output or store.folder / f"samples.{format_.value}"
    for path in write_export(store, format_.value, target):
        print(path)
