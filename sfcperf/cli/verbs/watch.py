"""`sfcperf watch RUN`: a run that another process executes."""

from __future__ import annotations

import typer

from sfcperf.cli.arguments import LATEST, RESULTS, ResultsOption, RunArgument
from sfcperf.errors import ExitCode


def watch(run: RunArgument = LATEST, results: ResultsOption = RESULTS) -> None:
    """Watch a run that another process executes. Shows its trials, the one that is measured now,
    values and intervals so far, noise, and the time that is left. Ends with the run, and writes
    nothing.

    Exit code: 0 if the run is complete, 1 if it was interrupted or killed, or failed, 2 if its
    folder is removed meanwhile.
    """
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.outcome import counts_text, print_costs, print_places, print_verdict
    from sfcperf.cli.watching import ended_text
    from sfcperf.cli.watching import watch as watch_run
    from sfcperf.results.manifest import counts

    store = open_run(run, results)
    live = watch_run(store)
    print(f"{ended_text(live)}; {counts_text(counts(live.trials))}")
    print_verdict(store)
    print_costs(store)
    print_places(store)
    if live.status != "complete":
        raise typer.Exit(ExitCode.SOME_TRIALS_BAD)
