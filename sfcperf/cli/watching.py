"""What `sfcperf watch` shows of a run: a picture that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sfcperf.analysis.planned import planned_measurements
from sfcperf.analysis.summary import summarise
from sfcperf.cli.outcome import counts_text
from sfcperf.cli.terminal.console import console
from sfcperf.cli.terminal.lines import verdict_text
from sfcperf.cli.terminal.text import levels_text
from sfcperf.control.live import CurrentTrial, LiveRun, look_at, version_of
from sfcperf.counts import count_text
from sfcperf.figures.run_data import RunData
from sfcperf.presentation import units
from sfcperf.presentation.attempts import attempts_text
from sfcperf.presentation.terminal import scenario_table
from sfcperf.presentation.time_left import time_left_of
from sfcperf.presentation.wording import duration_text
from sfcperf.report.noise import noise_findings
from sfcperf.results.attempts import attempt_counts
from sfcperf.results.manifest import counts
from sfcperf.results.noise_gate import account_text
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means
from sfcperf.workflow.model import Workflow

LOOK_S = 1.0
"""Shortest time between two looks at the folder, seconds. Drawing and reading cost CPU time of the
machine that is measured."""
SHARE = 0.02
"""Largest share of a CPU for reading and drawing."""
_LINES_ABOVE = 12
"""Lines of a terminal that are kept for everything but the rows of the table."""


def watch(store: RunStore) -> LiveRun:
    """Show a run until no process executes it any more; return its last state. Raises InputError
    when the folder is damaged."""
    out = console()
    return _pictures(store, out) if out.is_terminal else _lines(store)


def _looks(store: RunStore) -> Iterator[LiveRun]:
    """Yield the state of a run after each pause, until the run has ended. The folder is only read
    if it has changed."""
    live = None
    version: object = None
    spent_s = 0.0
    while live is None or live.is_alive:
        if live is not None:
            time.sleep(max(LOOK_S, spent_s / SHARE))
        began_s, is_first = time.process_time(), live is None
        if (now := version_of(store)) != version or live is None:
            version, live = now, look_at(store)
        yield replace(live, seen_at=datetime.now(UTC))
        # The first look does not count: it imports libraries.
        spent_s = 0.0 if is_first else time.process_time() - began_s


def _lines(store: RunStore) -> LiveRun:
    """Print the state of the run, and then a line for each trial, as soon as it is recorded. Return
    the last state of the run."""
    seen: set[str] = set()
    print(state_text(look_at(store)), flush=True)
    for live in _looks(store):
        for record in [*live.warmups, *live.trials]:
            if record.trial_id not in seen:
                seen.add(record.trial_id)
                where = f"{record.trial_id}, {levels_text(record.scenario)}"
                print(f"{len(seen)} of {live.planned}: {where}: {_told(record)}", flush=True)
    return live


def _told(record: TrialRecord) -> str:
    """Say what became of a trial, such as `ping: valid, rtt 17 µs`. The value is the trial's mean
    of its first metric, which is the probe's main one; a trial without samples has none."""
    if not record.samples:
        return verdict_text(record)
    metric, unit = record.samples[0]["metric"], record.samples[0]["unit"]
    value = trial_means(record)[metric]
    quantity = units.scale_for([value], unit, metric).quantity(value)
    return f"{verdict_text(record)}, {units.metric_title(metric)} {quantity}"


def _pictures(store: RunStore, out: Console) -> LiveRun:
    """Draw the run at each look; return its last state. The trials are summarised anew only when
    there are new ones, or one has another status."""
    rows: list[Summary] = []
    summarised: object = None
    workflow = RunData(store, store.run_id).workflow
    with Live(console=out, auto_refresh=False) as screen:
        for live in _looks(store):
            if (
                states := [(record.trial_id, record.status) for record in live.trials]
            ) != summarised:
                summarised = states
                rows = summarise(store, planned_measurements(live.manifest, live.trials))
            screen.update(picture(live, workflow, rows, out.height), refresh=True)
    return live


def picture(
    live: LiveRun, workflow: Workflow | None, rows: Sequence[Summary], height: int
) -> RenderableType:
    """Return a picture of all that is known of a run, for a terminal with `height` lines. Of
    `rows`, it has those of primary metrics with values; if these are too many, those of the
    scenarios measured last. `workflow` is None if it cannot be loaded here: the time that is left
    is then not known."""
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True)
    bar.add_row(
        ProgressBar(total=max(1, live.planned), completed=live.done),
        Text(f"{live.done} of {count_text(live.planned, 'trial')}"),
    )
    texts = [state_text(live), *_details(live, workflow)]
    primary = [row for row in rows if row.primary and row.n]
    shown = _last_measured(primary, live.trials, max(1, height - _LINES_ABOVE))
    parts: list[RenderableType] = [Text(texts[0], style="bold"), bar, *map(Text, texts[1:])]
    if shown:
        parts += [Text(), values_table(shown, live.trials)]
    if hidden := len(primary) - len(shown):
        parts.append(
            Text(f"and {count_text(hidden, 'more row')}: the terminal is too low", style="dim")
        )
    return Group(*parts)


def state_text(live: LiveRun) -> str:
    """Say what a run is doing, such as `20261124-...: measuring, for 2 min`."""
    run_id, state = live.manifest["run_id"], live.manifest["state"]
    if live.status == "running":
        return f"{run_id}: {state}, for {duration_text(live.elapsed_s)}"
    return f"{run_id}: {ended_text(live)}"


def ended_text(live: LiveRun) -> str:
    """Say how a run ended."""
    if live.status == "complete":
        done = live.manifest["state"] == "done"
        return "the run is complete" if done else "all trials are done, but not all was published"
    how = {"killed": "was killed", "interrupted": "was interrupted", "failed": "failed"}
    return f"the run {how[live.status]}"


def _details(live: LiveRun, workflow: Workflow | None) -> Iterator[str]:
    """Yield the lines between the bar and the table."""
    if live.current is not None:
        yield f"now:    {_current_text(live.current)}"
    if workflow is not None and (left := time_left_of(live, workflow)):
        yield f"time:   {left}"
    yield f"so far: {counts_text(counts(live.trials))}"
    if failures := attempts_text(attempt_counts([*live.warmups, *live.trials])):
        yield f"        {failures}"
    if account := live.manifest.get("noise"):
        yield account_text(account)
    for finding in noise_findings(live.manifest, live.trials):
        # Only the first sentence; the report has all of them.
        yield f"noise:  {finding.partition('. ')[0].rstrip('.')}"


def _current_text(trial: CurrentTrial) -> str:
    kind = "warm-up" if trial.warmup else "round"
    again = f", attempt {trial.attempt}" if trial.attempt > 1 else ""
    return f"{kind} {trial.round}, {levels_text(trial.scenario)}: {trial.label}{again}"


def values_table(rows: Sequence[Summary], trials: Sequence[TrialRecord]) -> Table:
    """Return a table with, for each row, its centre and interval as far as they are known, its last
    value in the same unit, and how many trials count."""
    last = {
        (record.scenario_id, record.label, metric): value
        for record in trials
        if record.status == "valid"
        for metric, value in trial_means(record).items()
    }
    number = {"justify": "right", "no_wrap": True}
    columns: dict[str, dict[str, Any]] = {
        "metric": {"no_wrap": True},
        rows[0].centre: number,
        "interval": number,
        "last": number,
        "trials": number,
    }

    def cells(row: Summary) -> tuple[Text, ...]:
        # Rows of the same metric share a scale, so that they can be compared at a glance.
        same = [r.estimate().value for r in rows if (r.label, r.metric) == (row.label, row.metric)]
        scale = units.scale_for([v for v in same if v is not None], row.unit, row.metric)
        estimate = row.estimate()
        # It decides how many digits are shown.
        half = units.half_width(estimate.low, estimate.high)
        latest = last.get((row.scenario_id, row.label, row.metric))
        return (
            Text(scale.with_unit(scale.number(estimate.value, half))),
            Text(scale.interval(estimate.low, estimate.high)),
            Text(scale.number(latest, half)),
            Text(f"{row.n} of {row.planned}"),
        )

    return scenario_table(rows, columns, cells)


def _last_measured(
    rows: Sequence[Summary], trials: Sequence[TrialRecord], most: int
) -> list[Summary]:
    """Return the rows of the scenarios that were measured last, in the order of `rows`: as many
    scenarios as fit into `most` lines, and at least one. A scenario takes one line more than it has
    rows."""
    latest = dict.fromkeys(record.scenario_id for record in reversed(trials))
    chosen: set[str] = set()
    for scenario_id in latest:
        lines = sum(row.scenario_id == scenario_id for row in rows) + 1
        if chosen and lines > most:
            break
        chosen.add(scenario_id)
        most -= lines
    return [row for row in rows if row.scenario_id in chosen]
