"""Runs to be shown: one, or many put side by side.

The results of many runs become those of one by one more factor, `run`, whose levels are the labels
of the runs. A run is then a series (or a place on the x axis) like any other level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sfcperf.analysis.claims.analysis import claims_in
from sfcperf.errors import InputError, SfcperfError
from sfcperf.figures.plot import Plot, resolve
from sfcperf.figures.published import with_published
from sfcperf.figures.results import RUN, Results, joined, line_results
from sfcperf.figures.trial_index import TrialIndex
from sfcperf.presentation.levels import Levels
from sfcperf.presentation.wording import date_and_time
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Claim, FigureSpec, Workflow


@dataclass(frozen=True)
class RunData:
    """A run with the label under which it is shown. Its files are read when they are needed, and
    once."""

    store: RunStore
    label: str
    loads_workflow: bool = True
    """Whether to load the workflow. False for a run whose plug-ins may be missing here: its
    manifest names the scenarios as well."""

    @cached_property
    def _loaded(self) -> tuple[Workflow | None, str | None]:
        """The workflow, and why it cannot be loaded; None for what there is not."""
        from sfcperf.workflow.load import load_document

        if not self.loads_workflow:
            return None, None
        try:
            return load_document(*self.store.workflow()), None
        except SfcperfError as error:
            return None, str(error)

    @property
    def workflow(self) -> Workflow | None:
        """The run's workflow; None if it cannot be loaded here, or is not to be loaded."""
        return self._loaded[0]

    @property
    def workflow_problem(self) -> str | None:
        """Why the workflow cannot be loaded here; None if it was loaded, or is not to be loaded."""
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
        """Levels of all planned scenarios, from the workflow, or from the manifest without one."""
        if self.workflow is not None:
            return [scenario.levels for scenario in self.workflow.scenarios]
        return [entry["levels"] for entry in self.store.manifest()["scenarios"]]

    @property
    def figures(self) -> tuple[FigureSpec, ...]:
        """Figures of the workflow; empty without one."""
        return self.workflow.figures if self.workflow is not None else ()

    @cached_property
    def claims(self) -> Sequence[Claim]:
        """Claims of the workflow, also of one that is not loaded."""
        return claims_in(self.store)

    @property
    def results(self) -> Results:
        """Results that the run's figures are made from."""
        return Results(self.summaries, self.scenarios, self.trials)


def side_by_side(runs: Sequence[RunData]) -> Results:
    """Return the results of one run as they are, or those of many runs joined, each with its label
    as the factor `run`.

    Raises InputError if one of many runs has a factor of that name.
    """
    if len(runs) == 1:
        return runs[0].results
    for run in runs:
        if any(RUN in levels for levels in run.scenarios):
            raise InputError(
                f"its factor {RUN!r} has the name of the factor that distinguishes runs",
                where=run.store.run_id,
                hint="draw this run alone",
            )
    return joined([run.results.labelled(run.label) for run in runs])


def label_runs(stores: Sequence[RunStore], by_run: Mapping[str, str]) -> list[RunData]:
    """Give each run a label. It is the one in `by_run`, whose keys are run ids or letters (A for
    the first run). Runs without one get the workflow's name; if names are not unique, with the time
    of the start; if that is not unique either, the run id.

    Raises InputError for a label of a run that is not there, and for labels that are not unique.
    """
    keys = [(letter_of(number), store.run_id) for number, store in enumerate(stores)]
    for key in by_run:
        if not any(key in names for names in keys):
            raise InputError(
                f"there is no run {key!r} to label",
                where="--label",
                allowed=", ".join(f"{letter} ({run_id})" for letter, run_id in keys),
            )
    automatic = _automatic_labels(stores)
    labels = [
        by_run.get(letter, by_run.get(run_id, label))
        for (letter, run_id), label in zip(keys, automatic, strict=True)
    ]
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise InputError(
            f"two runs have the label {twice[0]!r}",
            where="--label",
            hint="`--label A=before --label B=after` names the runs",
        )
    return [RunData(store, label) for store, label in zip(stores, labels, strict=True)]


def letter_of(number: int) -> str:
    """Return the letter of a run: A for 0, B for 1, ... Z, then AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _automatic_labels(stores: Sequence[RunStore]) -> list[str]:
    """Label the runs by workflow, by workflow and start, or by run id: the first that is unique."""
    manifests = [store.manifest() for store in stores]
    names = [str(m["name"]) for m in manifests]
    if len(set(names)) == len(names):
        return names
    dated = [f"{m['name']} {date_and_time(m['started_at'])[:16]}" for m in manifests]
    return dated if len(set(dated)) == len(dated) else [store.run_id for store in stores]


def resolve_figure(
    runs: Sequence[RunData], results: Results, spec: FigureSpec, index: TrialIndex
) -> Plot:
    """Resolve a figure over one run or many into its points, with the published values of their
    claims. `results` are those of the runs side
    by side; `index` has their trials, and gets those that the lines of a figure derive. Raises
    InputError if a run folder is damaged."""
    if not spec.lines:
        plot = resolve(spec, results.summaries, results.scenarios_of(spec), index)
        return with_published(plot, _claims(runs))
    found = [line_results(run.store, spec, run.results) for run in runs]
    if len(runs) > 1:
        found = [lines.labelled(run.label) for run, lines in zip(runs, found, strict=True)]
    lines = joined(found)
    index.add(lines.trials)
    return with_published(resolve(spec, lines.summaries, lines.scenarios, index), _claims(runs))


def _claims(runs: Sequence[RunData]) -> list[Claim]:
    """List the claims of all runs, each once."""
    found: list[Claim] = []
    for claim in (claim for run in runs for claim in run.claims):
        if claim not in found:
            found.append(claim)
    return found
