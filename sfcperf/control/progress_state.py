"""ProgressState: which trials are recorded, which are missing, which are to be run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sfcperf import plugins
from sfcperf.analysis.stopping import stop_reason
from sfcperf.results.noise_gate import budget, is_outside, without_replaced
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means
from sfcperf.workflow.model import NoiseGate, Scenario, Workflow
from sfcperf.workflow.plan import PlannedTrial, TrialGroup, scenario_blocks, trial_groups


class ProgressState:
    """Knows the recorded trials of a run, and tells what follows: missing trials, scenarios that
    may stop, trials to run again. Warm-up trials are not among them. In its methods, `number` is
    the number of a round, from 1, and `active` has the ids of the scenarios that have not
    stopped."""

    def __init__(self, workflow: Workflow, records: Iterable[TrialRecord]) -> None:
        self._workflow = workflow
        self._values: dict[str, dict[tuple[str, str], list[tuple[int, float]]]] = {
            scenario.id: {key: [] for key in _primary_metrics(scenario)}
            for scenario in workflow.scenarios
        }
        """Scenario -> (label, primary metric) -> round and value of each valid trial."""
        self._recorded: set[str] = set()
        """Ids of the recorded trials."""
        self.records: list[TrialRecord] = []
        """Records in the order in which the trials ended."""
        for record in records:
            self.add(record)

    def add(self, record: TrialRecord) -> None:
        """Add a recorded trial; only valid ones count for stopping, as they do in summaries."""
        self._recorded.add(record.trial_id)
        self.records.append(record)
        if record.status != "valid":
            return
        values = self._values.get(record.scenario_id, {})
        for metric, value in trial_means(record).items():
            if (record.label, metric) in values:
                values[record.label, metric].append((record.round, value))

    def missing(self, number: int, active: Iterable[str]) -> list[TrialGroup]:
        """Trial groups of a round, in order, with only those trials that are not recorded. A group
        whose trials are all recorded is left out."""
        return _cut_down(
            trial_groups(self._workflow, number, only=active),
            lambda trial: None if trial.trial_id in self._recorded else trial,
        )

    def stopping(self, number: int, active: Iterable[str]) -> dict[str, str]:
        """Map each active scenario that may stop after a round to the reason. The variants of a
        block stop together: a variant that continued alone would have rounds with nothing to
        compare them with."""
        reasons = {
            name: stop_reason(self._workflow.design, number, self._known(name, number))
            for name in active
        }
        # A reason of None: the scenario goes on. One that stopped earlier is not in `reasons`.
        continuing = {
            scenario.id
            for block in scenario_blocks(self._workflow)
            if any(reasons.get(scenario.id, "") is None for scenario in block)
            for scenario in block
        }
        return {
            name: reason
            for name, reason in reasons.items()
            if reason is not None and name not in continuing
        }

    def due(self, number: int) -> list[TrialRecord]:
        """Trials of a round that the noise gate wants to be run again; none without a gate."""
        gate = self._workflow.design.noise_gate
        return [] if gate is None else reruns_due(self.records, number, gate, self.planned()[0])

    def planned(self) -> tuple[int, int]:
        """Number of planned trials (without warm-up and further rounds), and how many of them are
        recorded."""
        design = self._workflow.design
        rounds = range(1, design.rounds + 1)
        groups = (group for n in rounds for group in trial_groups(self._workflow, n))
        ids = {trial.trial_id for group in groups for trial in group.trials}
        return len(ids), len(ids & self._recorded)

    def is_complete(self) -> bool:
        """Whether every trial is recorded that the plan and sequential stopping ask for."""
        active = [scenario.id for scenario in self._workflow.scenarios]
        number = 0
        while active:
            number += 1
            if self.missing(number, active) or self.due(number):
                return False
            stopped = self.stopping(number, active)
            active = [name for name in active if name not in stopped]
        return True

    def _known(self, scenario_id: str, round_number: int) -> dict[tuple[str, str], list[float]]:
        """(Label, primary metric) -> values of a scenario up to a round. A resumed run may have
        trials of later rounds already; without them it decides as the dead run did."""
        return {
            key: [value for round_, value in pairs if round_ <= round_number]
            for key, pairs in self._values[scenario_id].items()
        }


def rerun_number(trial_id: str) -> int:
    """Which rerun a trial is, by its id: 0 for a planned trial, 2 for `r001.2-s000-ping`."""
    number = trial_id.partition("-")[0].partition(".")[2]
    return int(number or 0)


def rerun_groups(groups: Iterable[TrialGroup], to_rerun: Sequence[TrialRecord]) -> list[TrialGroup]:
    """Cut the trial groups of a round down to the trials whose records are in `to_rerun`, and give
    these new ids."""
    again = {(record.scenario_id, record.label): record for record in to_rerun}

    def rerun(trial: PlannedTrial) -> PlannedTrial | None:
        """The trial with a new id; None if it is not run again."""
        record = again.get((trial.scenario.id, trial.probe.label))
        if record is None:
            return None
        head, _, rest = trial.trial_id.partition("-")
        number = rerun_number(record.trial_id) + 1
        return replace(trial, trial_id=f"{head}.{number}-{rest}", rerun_of=record.trial_id)

    return _cut_down(groups, rerun)


def _cut_down(
    groups: Iterable[TrialGroup], choose: Callable[[PlannedTrial], PlannedTrial | None]
) -> list[TrialGroup]:
    """Replace each trial by what `choose` makes of it. Trials for which it gives None are dropped,
    and groups that have none left."""
    cut = [
        replace(group, trials=tuple(filter(None, map(choose, group.trials)))) for group in groups
    ]
    return [group for group in cut if group.trials]


def reruns_due(
    records: Sequence[TrialRecord], round_number: int, gate: NoiseGate, planned: int
) -> list[TrialRecord]:
    """Choose the trials of a round to run again now, in the order in which they ran: those outside
    the gate that have reruns left, as far as the rerun budget of the run goes. `planned`: number of
    planned trials of the run."""
    reruns_left = budget(gate, planned) - sum(bool(record.rerun_of) for record in records)
    distrusted = [
        record
        for record in without_replaced(records)
        if record.round == round_number
        and is_outside(record)
        and rerun_number(record.trial_id) < gate.max_reruns
    ]
    return distrusted[: max(0, reruns_left)]


def _primary_metrics(scenario: Scenario) -> list[tuple[str, str]]:
    """(label, metric) of the metrics by which sequential stopping decides: the primary ones."""
    return [
        (spec.label, metric.name)
        for spec in scenario.probes
        for metric in plugins.load("probe", spec.probe).metrics(spec.parameters)
        if metric.primary
    ]
