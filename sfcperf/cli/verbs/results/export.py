"""`sfcperf export RUN`: all samples of a run in one flat table, or its summaries for Prometheus."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfcperf.cli.arguments import LATEST, RESULTS, ResultsOption, RunArgument, output_option
from sfcperf.errors import InputError, system_errors_as

if TYPE_CHECKING:
    from sfcperf.results.store import RunStore


class Format(StrEnum):
    """File formats of exports."""

    CSV = "csv"
    PARQUET = "parquet"
    OPENMETRICS = "openmetrics"


def export(
    run: RunArgument = LATEST,
    format_: Annotated[Format, typer.Option("--format", help="File format.")] = Format.CSV,
    output: Annotated[
        Path | None,
        output_option(
            "File to write [default: samples.csv, samples.parquet or summary.prom in the run "
            "folder]."
        ),
    ] = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Write samples (CSV, Parquet), or summaries for Prometheus.

    Each sample is a row, with its trial and factor levels. Telemetry and flows, if any, go to files
    next to it. With `--format openmetrics`, writes the summaries. Prints the files' paths."""
    from sfcperf.cli.inputs import read_run
    from sfcperf.results.export import export as write_export

    store = read_run(run, results)
    if output is None and store.is_read_only:
        # This raises, and says why: the export would be written into the run folder.
        store.check_writable()
    if format_ is Format.OPENMETRICS:
        _write_openmetrics(store, output or store.folder / "summary.prom")
        return
    target = output or store.folder / f"samples.{format_.value}"
    kind: Literal["csv", "parquet"] = "csv" if format_ is Format.CSV else "parquet"
    for path in write_export(store, kind, target):
        print(path)


def _write_openmetrics(store: RunStore, target: Path) -> None:
    """Write the summaries of a run in the format of Prometheus, and print the file's path."""
    from sfcperf.presentation.openmetrics import openmetrics
    from sfcperf.results.export import check_target
    from sfcperf.results.files import replace_file

    text = openmetrics(store)
    check_target(store, target)
    with system_errors_as(InputError, "the export cannot be written", where=target):
        replace_file(target, text)
    print(target)
