"""`sfcperf runs`: the runs in a results folder."""

from __future__ import annotations

from sfcperf.cli.arguments import RESULTS, ResultsOption


def runs(results: ResultsOption = RESULTS) -> None:
    """List runs, with their status and trials."""
    from rich.console import Console
    from rich.table import Table

    from sfcperf.results.runs import RunInfo, list_runs

    def status(run: RunInfo) -> str:
        """A run that says `running` in its folder and runs nowhere here was killed."""
        return "killed" if run.status == "running" and not _alive(run.run_id) else run.status

    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("started", no_wrap=True)
    for count in ("valid", "untrusted", "failed"):
        table.add_column(count, justify="right")
    found = list_runs(results)
    for run in found:
        trials = [str(run.valid), str(run.untrusted), str(run.failed)]
        table.add_row(run.run_id, status(run), run.started_at[:19], *trials)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if found:
        console.print(table)
    else:
        console.print(f"no runs in {results}")
    for run in found:
        if run.damage:
            console.print(f"damaged: {run.damage}")


def _alive(run_id: str) -> bool:
    from sfcperf.control.state import StateDir
    from sfcperf.errors import EnvironmentLacks

    try:
        return StateDir().alive(run_id)
    except EnvironmentLacks:
        # Live runs are root's to see; anybody else is told what the folder says.
        return True
