"""The `sfcperf` command: its verbs, and how errors become messages and exit codes.

Everything heavy is imported inside the verbs: `--help` and mistyped options answer at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import sfcperf
from sfcperf.cli import (
    clean,
    doctor,
    export,
    listing,
    plan,
    report,
    resume,
    run,
    runs,
    show,
    validate,
)
from sfcperf.cli.failures import exit_code_of, flush_stdout, signals_interrupt
from sfcperf.errors import ExitCode

app = typer.Typer(
    name="sfcperf",
    help="Benchmark service function chains from one JSON workflow.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Help as plain text: importing rich costs more than all the rest of `--help`.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("run")(run.run)
app.command("validate")(validate.validate)
app.command("plan")(plan.plan)
app.command("list")(listing.list_)
app.command("show")(show.show)
app.command("resume")(resume.resume)
app.command("report")(report.report)
app.command("runs")(runs.runs)
app.command("export")(export.export)
app.command("clean")(clean.clean)
app.command("doctor")(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        print(f"sfcperf {sfcperf.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Benchmark service function chains from one JSON workflow."""


def main() -> None:
    """Entry point of the `sfcperf` command."""
    code = _run()
    flush_stdout()
    sys.exit(code)


def _run() -> int:
    """Run the command line and give the exit code."""
    signals_interrupt()
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.OK
    except BaseException as error:
        return exit_code_of(error)
    return ExitCode.OK
