"""`sfcperf resume RUN`: continue a run that was interrupted or killed."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, QuietOption, ResultsOption

ResumeArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Run folder, or its name in --results; or a campaign of `sfcperf run --repeat`.",
        show_default=False,
    ),
]


def resume(
    run: ResumeArgument,
    results: ResultsOption = RESULTS,
    quiet: QuietOption = False,
) -> None:
    """Continue an interrupted run or campaign. Of a run: removes what it left behind, then
    measures the missing trials. Of a campaign: continues its interrupted runs, then measures
    those that are missing."""
    from sfcperf.cli.terminal.lines import say

    if not quiet:
        # Said at once: the imports that follow take time.
        say(f"checking {run}")
    from sfcperf.cli.inputs import is_campaign, open_run
    from sfcperf.cli.outcome import executed
    from sfcperf.cli.repeating import resume_campaign, told_after
    from sfcperf.control.run import resume as resume_run

    if is_campaign(run):
        raise typer.Exit(resume_campaign(run, results, quiet=quiet))
    store = open_run(run, results)
    code = executed(partial(resume_run, store.folder), quiet=quiet)
    told_after(store, quiet=quiet)
    raise typer.Exit(code)
