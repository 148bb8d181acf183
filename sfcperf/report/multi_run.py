"""HTML report of many runs, side by side and not judged: `sfcperf compare` tests them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfcperf.figures.results import RUN, Results
from sfcperf.figures.run_data import RunData, letter_of, resolve_figure, side_by_side
from sfcperf.figures.selection import FigureRequest, automatic, chosen_figures
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.levels import level_text
from sfcperf.presentation.pages import relative_link, render, trial_anchor
from sfcperf.presentation.wording import shortened
from sfcperf.report.charts import MetricChart, chart
from sfcperf.report.run_facts import run_facts
from sfcperf.report.verdict import Verdict, verdict_of
from sfcperf.results.files import replace_file
from sfcperf.results.records import TrialRecord

_LONGEST_VALUE = 80


@dataclass(frozen=True)
class RunRow:
    """A run in the overview."""

    letter: str
    """Letter that names the run in `--label`."""
    label: str
    run_id: str
    name: str
    description: str
    verdict: Verdict
    facts: tuple[tuple[str, str], ...]
    report: str | None
    """Link to the run's own report, relative to this page; None when there is none."""


@dataclass(frozen=True)
class RunDifference:
    """A fact that is not the same in all runs."""

    kind: str
    name: str
    values: tuple[str, ...]
    """A value for each run, in the order of the runs."""


def write_report(runs: Sequence[RunData], target: Path) -> None:
    """Write the page. Raises InputError when the runs cannot be shown together, or none of them
    has results."""
    results = side_by_side(runs)
    primary, others = _charts(runs, results, target.parent)
    page = render(
        "sfcperf.report",
        "runs.html.j2",
        [*primary, *others],
        runs=[_row(number, run, target.parent) for number, run in enumerate(runs)],
        primary=primary,
        others=others,
        differences=run_differences(runs),
        without_results=[run.label for run in runs if not run.summaries],
    )
    replace_file(target, page)


def run_differences(runs: Sequence[RunData]) -> list[RunDifference]:
    """Return facts of host, versions, infrastructure and workflow in which a run differs from the
    first one. Facts that change whenever a machine is read are left out."""
    from sfcperf.analysis.comparison import Side, differences, read_side

    first, *rest = [read_side(Side(run.label, run.store)) for run in runs]
    # Kind and name of a fact -> number of a run -> its value, where it is not that of the first
    # run; `baselines` has that.
    found: dict[tuple[str, str], dict[int, Any]] = {}
    baselines: dict[tuple[str, str], Any] = {}
    for number, other in enumerate(rest, 1):
        for difference in differences(first, other):
            key = (difference.kind, difference.name)
            baselines[key] = difference.baseline
            found.setdefault(key, {})[number] = difference.value
    return [
        RunDifference(
            kind,
            name,
            tuple(_text(values.get(number, baselines[kind, name])) for number in range(len(runs))),
        )
        for (kind, name), values in found.items()
    ]


def _row(number: int, run: RunData, folder: Path) -> RunRow:
    """Make the row of a run. `number`: its place, from 0; `folder`: that of the page, for links."""
    manifest = run.store.manifest()
    return RunRow(
        letter_of(number),
        run.label,
        run.store.run_id,
        manifest["name"],
        manifest["description"],
        verdict_of(manifest, run.trials, run.summaries),
        tuple(run_facts(manifest, run.trials)),
        relative_link(run.store.report, folder) if run.store.report.is_file() else None,
    )


def _charts(
    runs: Sequence[RunData], results: Results, folder: Path
) -> tuple[list[MetricChart], list[MetricChart]]:
    """Return the charts of primary metrics, the workflow's figures first, and all other charts."""
    index = TrialIndex(results.trials)
    chosen = chosen_figures(runs, results, FigureRequest())
    shown = [replace(spec, fit="none") for spec in chosen]  # this page has no fitted lines
    covered = {(spec.probe, spec.metric) for spec in shown}
    others = automatic(results.summaries, results.scenarios)
    shown += [spec for spec in others if (spec.probe, spec.metric) not in covered]
    link = _links(runs, folder)
    charts = []
    for number, spec in enumerate(shown):
        plot = resolve_figure(runs, results, spec, index)
        drawn = chart(f"metric-{number}", plot, index, link=link)
        without = tuple(results.runs_without(spec))
        # Trials without a value are not listed here: the reports of their runs name them.
        charts.append(replace(drawn, trials_without_value=(), runs_without=without))
    first = [c for n, c in enumerate(charts) if n < len(chosen) or c.primary]
    return first, [c for c in charts if c not in first]


def _links(runs: Sequence[RunData], folder: Path) -> Callable[[TrialRecord], str]:
    """Return a function that says where a click on a trial's point goes: to the trial's row in the
    report of its run. Empty for a run without a report: the click then goes nowhere."""
    reports = {
        run.label: relative_link(run.store.report, folder)
        for run in runs
        if run.store.report.is_file()
    }

    def link(record: TrialRecord) -> str:
        # Among many runs, each trial's scenario has the label of its run.
        run = str(record.scenario[RUN]) if len(runs) > 1 else runs[0].label
        report = reports.get(run)
        return f"{report}#{trial_anchor(record.trial_id)}" if report else ""

    return link


def _text(value: object) -> str:
    """Return a fact as text of limited length; a dash where a run lacks it."""
    return "–" if value is None else shortened(level_text(value), _LONGEST_VALUE)
