"""`sfcperf runs`: the runs in a results folder."""

from __future__ import annotations

from sfcperf.cli.arguments import RESULTS, ResultsOption
from sfcperf.counts import count_text


def runs(results: ResultsOption = RESULTS) -> None:
    """List runs with their status and number of trials."""
    from rich.table import Table

    from sfcperf.cli.terminal.console import console
    from sfcperf.control.lock import is_held
    from sfcperf.results.runs import RunInfo, list_runs

    def status(run: RunInfo) -> str:
        """Return the status of a run. One that says `running`, and whose folder nobody has locked,
        was killed."""
        return "killed" if run.status == "running" and not is_held(run.folder) else run.status

    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("started", no_wrap=True)
    for count in ("valid", "untrusted", "failed"):
        table.add_column(count, justify="right")
    # Before the first run, the default folder does not exist: that is no error.
    found = list_runs(results) if results != RESULTS or results.exists() else []
    if any(run.repeat for run in found):
        table.add_column("repeat", no_wrap=True)
    for run in found:
        trials = [str(run.valid), str(run.untrusted), str(run.failed)]
        place = f"{run.repeat.index}/{run.repeat.of}" if run.repeat else ""
        cells = [*trials, place][: len(table.columns) - 3]
        table.add_row(run.run_id, status(run), run.started_at[:19], *cells)
    out = console()
    if found:
        out.print(table)
    else:
        out.print(f"no runs in {results}", soft_wrap=True)
    campaigns = dict.fromkeys(run.repeat.campaign for run in found if run.repeat)
    for name in campaigns:
        number = sum(run.repeat is not None and run.repeat.campaign == name for run in found)
        out.print(f"campaign {name}: {count_text(number, 'run')}", soft_wrap=True)
    for run in found:
        if run.damage:
            out.print(f"damaged: {run.damage}", soft_wrap=True)
