"""One HTML page for many runs: what they are, what they share a chart for, in what they differ.

Numbers are put side by side, not judged: `sfcperf compare` tests them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfcperf.figures.plot import RUN, automatic
from sfcperf.figures.run_data import (
    Results,
    RunData,
    letter_of,
    resolve_figure,
    side_by_side,
)
from sfcperf.figures.selection import Wish, chosen_figures
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.html_page import environment, page_parts
from sfcperf.presentation.levels import level_text
from sfcperf.report.charts import Chart, chart, trial_anchor
from sfcperf.report.run_facts import run_facts
from sfcperf.report.verdict import Verdict, judge
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import replace_file

_LONGEST_VALUE = 80


@dataclass(frozen=True)
class RunRow:
    """A run in the overview."""

    letter: str
    """As `--label` takes it."""
    label: str
    run_id: str
    name: str
    description: str
    verdict: Verdict
    facts: tuple[tuple[str, str], ...]
    report: str | None
    """Its own report, relative to this page; None when there is none."""


@dataclass(frozen=True)
class Contrast:
    """Something in which the runs are not all the same."""

    kind: str
    name: str
    values: tuple[str, ...]
    """One per run, in their order."""


def write_report(runs: Sequence[RunData], target: Path) -> None:
    """Write the page. Raises InputError when the runs cannot be shown together, or none of them
    has results."""
    results = side_by_side(runs)
    primary, others = _charts(runs, results, target.parent)
    charts = [*primary, *others]
    template = environment("sfcperf.report").get_template("many.html.j2")
    page = template.render(
        **page_parts(),
        runs=[_row(number, run, target.parent) for number, run in enumerate(runs)],
        primary=primary,
        others=others,
        contrasts=contrasts(runs),
        bare=[run.label for run in runs if not run.summaries],
        data={c.id: c.data for c in charts},
    )
    replace_file(target, page)


def contrasts(runs: Sequence[RunData]) -> list[Contrast]:
    """Facts of host, versions, infrastructure and workflow that are not the same in all runs; what
    changes from one look at a machine to the next is none of them."""
    from sfcperf.analysis.comparison.circumstances import differences
    from sfcperf.analysis.comparison.sides import Side, read_side

    first, *rest = [read_side(Side(run.label, run.store)) for run in runs]
    found: dict[tuple[str, str], dict[int, Any]] = {}
    baselines: dict[tuple[str, str], Any] = {}
    for number, other in enumerate(rest, 1):
        for difference in differences(first, other):
            key = (difference.kind, difference.name)
            baselines[key] = difference.baseline
            found.setdefault(key, {})[number] = difference.value
    return [
        Contrast(
            kind,
            name,
            tuple(_text(values.get(number, baselines[kind, name])) for number in range(len(runs))),
        )
        for (kind, name), values in found.items()
    ]


def _row(number: int, run: RunData, folder: Path) -> RunRow:
    manifest = run.store.manifest()
    return RunRow(
        letter_of(number),
        run.label,
        run.store.run_id,
        str(manifest.get("name") or ""),
        str(manifest.get("description") or ""),
        judge(manifest, run.trials, run.summaries),
        tuple(run_facts(manifest, run.trials)),
        _relative(run.store.report, folder) if run.store.report.is_file() else None,
    )


def _charts(
    runs: Sequence[RunData], results: Results, folder: Path
) -> tuple[list[Chart], list[Chart]]:
    """Charts of primary metrics (the workflow's figures first), and the others."""
    index = TrialIndex(results.trials)
    asked = [replace(spec, fit="none") for spec in chosen_figures(runs, results, (), Wish())]
    covered = {(spec.probe, spec.metric) for spec in asked}
    free = [f for f in automatic(results.summaries, results.scenarios)
            if (f.probe, f.metric) not in covered]  # fmt: skip
    link = _links(runs, folder)
    charts = [
        # A trial without a value is named in the report of its run.
        replace(
            chart(
                f"metric-{number}",
                resolve_figure(runs, results, spec, index),
                index,
                link=link,
            ),
            lost=(),
            without=tuple(results.without(spec)),
        )
        for number, spec in enumerate([*asked, *free])
    ]
    first = [c for n, c in enumerate(charts) if n < len(asked) or c.primary]
    return first, [c for c in charts if c not in first]


def _links(runs: Sequence[RunData], folder: Path) -> Callable[[TrialRecord], str]:
    """Where a trial's point leads: to its row in the report of its run; nowhere without one."""
    reports = {
        run.label: _relative(run.store.report, folder) for run in runs if run.store.report.is_file()
    }

    def link(record: TrialRecord) -> str:
        run = str(record.scenario[RUN]) if len(runs) > 1 else runs[0].label
        report = reports.get(run)
        return f"{report}#{trial_anchor(record.trial_id)}" if report else ""

    return link


def _relative(path: Path, folder: Path) -> str:
    relative = quote(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())
    # A first part with a colon would be read as a scheme.
    return f"./{relative}"


def _text(value: object) -> str:
    if value is None:
        return "–"
    text = level_text(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
