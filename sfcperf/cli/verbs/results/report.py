"""`sfcperf report RUN...`: recreate the report from the run folder, or serve it."""

from __future__ import annotations

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
from sfcperf.errors import EnvironmentLacks, InputError

MANY = Path("runs.html")
"""Default file of a page with several runs."""
PORT = 8644
"""Default port of --serve."""


def report(
    runs: RunsArgument = None,
    output: Annotated[
        Path | None, output_option(f"HTML file for several runs [default: {MANY}].")
    ] = None,
    label: LabelOption = None,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            help="Serve the report of a run on 127.0.0.1 until Ctrl-C, updated while the run "
            "goes on; writes nothing.",
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help=f"Port of --serve; 0 takes a free one [default: {PORT}].",
            show_default=False,
        ),
    ] = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Create the report of a run again, from its folder. Also creates its summary and figures
    again. For several runs, creates one page that shows them side by side."""
    runs = runs or [LATEST]
    if port is not None and not serve:
        raise InputError("there is nothing to serve", where="--port", allowed="only with --serve")
    if serve:
        if len(runs) != 1 or output is not None or label:
            raise InputError(
                "one run is served, as it is", where="--serve", allowed="a single run, without -o"
            )
        _serve(runs[0], results, PORT if port is None else port)
    elif len(runs) == 1:
        if output is not None or label:
            raise InputError(
                "the report of a single run has a fixed path",
                where="--output" if output is not None else "--label",
                allowed="only with two or more runs",
            )
        _of_one(runs[0], results)
    else:
        _of_many(runs, output or MANY, label, results)


def _of_one(run: str, results: Path) -> None:
    """Create summary, figures and report of a run again, and print its outcome. Raises
    EnvironmentLacks if a step failed."""
    from sfcperf.cli.inputs import read_run
    from sfcperf.cli.outcome import print_costs, print_places, print_summary, print_verdict
    from sfcperf.control import publishing

    store = read_run(run, results)
    store.check_writable()
    # Read first, so that a damaged folder is reported as such, and not as a failed step.
    store.manifest()
    store.trials()
    problems = [*publishing.analyse(store), *publishing.publish_report(store)]
    print_summary(store)
    print_verdict(store)
    print_costs(store)
    print_places(store)
    if problems:
        raise EnvironmentLacks("not everything could be created:\n" + "\n".join(problems))


def _serve(run: str, results: Path, port: int) -> None:
    """Print the address of a run's report, and serve it until Ctrl-C."""
    from sfcperf.cli.inputs import read_run
    from sfcperf.report.serving import ADDRESS, report_server

    store = read_run(run, results)
    # Read now, so that a damaged folder is reported here, and not when a browser asks.
    store.manifest()
    store.trials()
    with report_server(store, port) as server:
        print(f"http://{ADDRESS}:{server.server_port}/", flush=True)
        server.serve_forever()


def _of_many(runs: list[str], output: Path, labels: list[str] | None, results: Path) -> None:
    """Write a page that shows several runs side by side, and print its path."""
    from sfcperf.cli.inputs import open_runs
    from sfcperf.report.multi_run import write_report

    data = open_runs(runs, results, labels)
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise InputError("cannot be written", where=str(output), allowed="a file in a folder")
    write_report(data, output)
    print(output)
