"""What figures and reports are made from: the results of one run, or of many put side by side.

Many runs become one by a factor more, `run`, whose levels are their labels: then a run is a series
(or a place on the x axis) as any level is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sfcperf.errors import InputError, SfcperfError
from sfcperf.figures.line_results import LineResults, line_results
from sfcperf.figures.plot import RUN, Plot, resolve
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.levels import Levels
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import FigureSpec, Workflow


@dataclass(frozen=True)
class RunData:
    """A run with the name under which it is shown."""

    store: RunStore
    label: str

    @cached_property
    def _loaded(self) -> tuple[Workflow | None, str | None]:
        return load_workflow(self.store)

    @property
    def workflow(self) -> Workflow | None:
        """None when it cannot be loaded here."""
        return self._loaded[0]

    @property
    def workflow_problem(self) -> str | None:
        """Why the workflow cannot be loaded here."""
        return self._loaded[1]

    @cached_property
    def trials(self) -> list[TrialRecord]:
        """All finished trials."""
        return self.store.trials()

    @cached_property
    def summaries(self) -> list[Summary]:
        """Rows of summary.json."""
        return self.store.summaries()

    @cached_property
    def scenarios(self) -> list[Levels]:
        """Levels of all planned scenarios."""
        return planned_scenarios(self.store, self.workflow, self.trials)

    @property
    def figures(self) -> tuple[FigureSpec, ...]:
        """The workflow's figures."""
        return self.workflow.figures if self.workflow is not None else ()


@dataclass(frozen=True)
class Results:
    """Summaries, scenarios and trials, ready to be resolved into plots."""

    summaries: list[Summary]
    scenarios: list[Levels]
    trials: list[TrialRecord]
    runs: tuple[str, ...] = ()
    """Labels, when there are many."""

    def scenarios_of(self, spec: FigureSpec) -> list[Levels]:
        """Scenarios of the runs that measured what a figure shows."""
        without = self.without(spec)
        return [levels for levels in self.scenarios if levels.get(RUN) not in without]

    def without(self, spec: FigureSpec) -> list[str]:
        """Labels of the runs that measured nothing of what a figure shows."""
        probes = {line.probe for line in spec.lines}
        have = {
            row.scenario.get(RUN)
            for row in self.summaries
            if (row.label, row.metric) == (spec.probe, spec.metric) or row.label in probes
        }
        return [label for label in self.runs if label not in have]


def load_workflow(store: RunStore) -> tuple[Workflow | None, str | None]:
    """The run's workflow, or why it cannot be loaded here: its plug-ins may be missing."""
    from sfcperf.workflow.load import load_document

    try:
        return load_document(*store.workflow()), None
    except SfcperfError as error:
        return None, str(error)


def planned_scenarios(
    store: RunStore, workflow: Workflow | None, trials: Sequence[TrialRecord]
) -> list[Levels]:
    """Levels of all planned scenarios: from the workflow, else the manifest, else the trials."""
    if workflow is not None:
        return [scenario.levels for scenario in workflow.scenarios]
    planned = [scenario["levels"] for scenario in store.manifest().get("scenarios") or ()]
    seen = {record.scenario_id: record.scenario for record in trials}
    return planned or list(seen.values())


def side_by_side(runs: Sequence[RunData]) -> Results:
    """Results of one run as they are; of many, each with its label as the factor `run`.

    Raises InputError when a workflow has a factor of that name.
    """
    if len(runs) == 1:
        return Results(runs[0].summaries, runs[0].scenarios, runs[0].trials)
    for run in runs:
        if any(RUN in levels for levels in run.scenarios):
            raise InputError(
                f"its factor {RUN!r} has the name that tells many runs apart",
                where=run.store.run_id,
                hint="draw this run alone",
            )
    return Results(
        [replace(row, scenario=_with(run, row.scenario)) for run in runs for row in run.summaries],
        [_with(run, levels) for run in runs for levels in run.scenarios],
        [replace(r, scenario=_with(run, r.scenario)) for run in runs for r in run.trials],
        tuple(run.label for run in runs),
    )


def label_runs(stores: Sequence[RunStore], given: Mapping[str, str]) -> list[RunData]:
    """Runs with their labels: those given (by letter, A for the first run, or by run id), else the
    workflow's name, with the time of its start where names meet, else the run id.

    Raises InputError for a label of a run that is not there, and for labels that are not unique.
    """
    keys = [(letter_of(number), store.run_id) for number, store in enumerate(stores)]
    for key in given:
        if not any(key in names for names in keys):
            raise InputError(
                f"there is no run {key!r} to label",
                where="--label",
                allowed=", ".join(f"{letter} ({run_id})" for letter, run_id in keys),
            )
    automatic = _automatic_labels(stores)
    labels = [
        given.get(letter, given.get(run_id, label))
        for (letter, run_id), label in zip(keys, automatic, strict=True)
    ]
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise InputError(
            f"two runs have the label {twice[0]!r}",
            where="--label",
            hint="the same run twice? otherwise `--label A=before --label B=after`",
        )
    return [RunData(store, label) for store, label in zip(stores, labels, strict=True)]


def letter_of(number: int) -> str:
    """A for 0, B for 1, ..., Z, AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _automatic_labels(stores: Sequence[RunStore]) -> list[str]:
    manifests = [store.manifest() for store in stores]
    ids = [store.run_id for store in stores]
    names = [str(m.get("name") or run) for m, run in zip(manifests, ids, strict=True)]
    if len(set(names)) == len(names):
        return names
    starts = [str(m.get("started_at") or "")[:16].replace("T", " ") for m in manifests]
    dated = [f"{name} {start}".strip() for name, start in zip(names, starts, strict=True)]
    return dated if len(set(dated)) == len(dated) else ids


def resolve_figure(
    runs: Sequence[RunData], results: Results, spec: FigureSpec, index: TrialIndex
) -> Plot:
    """The points of a figure over one run or many; `results` are those of the runs side by side,
    and `index` knows their trials. Raises InputError when a run folder is damaged."""
    if not spec.lines:
        return resolve(spec, results.summaries, results.scenarios_of(spec), index)
    found = [line_results(run.store, spec, run.trials, run.scenarios) for run in runs]
    if len(runs) > 1:
        found = [_labelled(run, lines) for run, lines in zip(runs, found, strict=True)]
    index.add(record for lines in found for record in lines.trials)
    summaries = [row for lines in found for row in lines.summaries]
    return resolve(spec, summaries, [one for lines in found for one in lines.scenarios], index)


def _labelled(run: RunData, lines: LineResults) -> LineResults:
    return LineResults(
        [replace(row, scenario=_with(run, row.scenario)) for row in lines.summaries],
        [_with(run, levels) for levels in lines.scenarios],
        [replace(record, scenario=_with(run, record.scenario)) for record in lines.trials],
    )


def _with(run: RunData, levels: Levels) -> dict[str, object]:
    return {RUN: run.label, **levels}
