"""`sfcperf report RUN...`: recreate the report from the run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, LabelOption, ResultsOption, RunsArgument
from sfcperf.errors import EnvironmentLacks, InputError

MANY = Path("runs.html")


def report(
    runs: RunsArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help=f"HTML file for several runs [default: {MANY}]."
        ),
    ] = None,
    label: LabelOption = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Create the report of a run again, from its folder. Also creates its summary and figures
    again. For several runs, creates one page that shows them side by side."""
    if len(runs) == 1:
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
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.outcome import print_costs, print_places, print_summary, print_verdict
    from sfcperf.control import publishing

    store = open_run(run, results)
    store.check_writable()
    # A damaged folder is the user's to know about, not a failed step.
    store.manifest()
    store.trials()
    problems = [*publishing.analyse(store), *publishing.publish_report(store)]
    print_summary(store)
    print_verdict(store)
    print_costs(store)
    print_places(store)
    if problems:
        raise EnvironmentLacks("not everything could be created:\n" + "\n".join(problems))


def _of_many(runs: list[str], output: Path, labels: list[str] | None, results: Path) -> None:
    from sfcperf.cli.inputs import open_runs
    from sfcperf.report.multi_run import write_report

    data = open_runs(runs, results, labels)
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise InputError("cannot be written", where=str(output), allowed="a file in a folder")
    write_report(data, output)
    print(output)
