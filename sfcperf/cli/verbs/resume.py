"""`sfcperf resume RUN`: continue a run that was interrupted or killed."""

from __future__ import annotations

from functools import partial

import typer

from sfcperf.cli.arguments import RESULTS, QuietOption, ResultsOption, RunArgument


def resume(
    run: RunArgument,
    results: ResultsOption = RESULTS,
    quiet: QuietOption = False,
) -> None:
    """Continue an interrupted run: remove what it left behind, then run the missing trials."""
    from sfcperf.cli.progress import say

    if not quiet:
        # Before the imports that take time.
        say(f"checking {run}")
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.outcome import executed
    from sfcperf.control.run import resume as resume_run

    store = open_run(run, results)
    raise typer.Exit(executed(partial(resume_run, store.folder), quiet=quiet))
