"""`sfcperf resume RUN`: continue a run that was interrupted or killed."""

from __future__ import annotations

import typer

from sfcperf.cli.arguments import RESULTS, QuietOption, ResultsOption, RunArgument


def resume(
    run: RunArgument,
    results: ResultsOption = RESULTS,
    quiet: QuietOption = False,
) -> None:
    """Continue an interrupted run: remove what it left behind, then run the missing trials."""
    import sys

    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.outcome import show_outcome
    from sfcperf.cli.progress import progress
    from sfcperf.control.run import resume as resume_run

    store = open_run(run, results)
    with progress(quiet=quiet) as listener:
        outcome = resume_run(store.folder, command=sys.argv, listener=listener)
    show_outcome(outcome, quiet=quiet)
    raise typer.Exit(outcome.exit_code)
