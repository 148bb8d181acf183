"""`sfcperf run WORKFLOW`: build, measure, analyse, publish."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from sfcperf.cli.arguments import (
    RESULTS,
    DriverOption,
    ProfileOption,
    QuietOption,
    RepeatOption,
    ResultsOption,
    SetOption,
    WorkflowArgument,
)


def run(
    workflow: WorkflowArgument,
    results: ResultsOption = RESULTS,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and print the plan; create nothing.")
    ] = False,
    repeat: RepeatOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run a workflow: build chains, measure, write results.

    With --repeat (or `design.runs` in the workflow), measure several independent runs, a campaign.
    Runs of the same workflow differ by chance; `sfcperf compare` can tell a change from chance if
    it knows how much.

    Exit code: 0 all trials valid, 1 some failed or untrusted, 2 bad input, 3 the environment lacks
    something (or not everything could be published), 4 internal error, 130 interrupted (continue
    with `sfcperf resume`). Of several runs: the largest.
    """
    from sfcperf.cli.terminal.lines import say

    if not quiet:
        # Said at once: the imports that follow take time.
        say(f"checking {workflow}")
    from sfcperf.cli.inputs import read_workflow

    loaded, source = read_workflow(workflow, set_, driver, profile, repeat)
    if dry_run:
        from sfcperf.cli.foreseen import say_warnings
        from sfcperf.cli.verbs.plan import print_plan
        from sfcperf.control.validation import check

        check(loaded)
        if not quiet:
            print_plan(loaded)
        say_warnings(loaded)
        return

    if loaded.design.runs > 1:
        from sfcperf.cli.repeating import start_campaign

        raise typer.Exit(start_campaign(loaded, results, source=source, quiet=quiet))

    from sfcperf.cli.outcome import executed
    from sfcperf.control.run import start

    raise typer.Exit(executed(partial(start, loaded, results, source=source), quiet=quiet))
