"""Tally: which trials are recorded, and what they say about stopping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfcperf import plugins
from sfcperf.analysis.stopping import stop_reason
from sfcperf.control.reruns import due
from sfcperf.results.records import TrialRecord
from sfcperf.results.trial_values import trial_means
from sfcperf.workflow.model import Scenario, Workflow
from sfcperf.workflow.plan import PlannedTrial, Visit, scenario_blocks, visits


class Tally:
    """What is left to measure follows from the workflow and from the recorded trials alone."""

    def __init__(self, workflow: Workflow, records: Iterable[TrialRecord]) -> None:
        self._workflow = workflow
        self._values: dict[str, dict[tuple[str, str], list[tuple[int, float]]]] = {
            scenario.id: {key: [] for key in _primary_metrics(scenario)}
            for scenario in workflow.scenarios
        }
        """Scenario -> (label, metric) -> round and value of each valid trial."""
        self._recorded: set[str] = set()
        self.records: list[TrialRecord] = []
        """In the order in which they ended."""
        for record in records:
            self.take(record)

    def take(self, record: TrialRecord) -> None:
        """Note a recorded trial; only valid ones count for stopping, as they do in summaries."""
        self._recorded.add(record.trial_id)
        self.records.append(record)
        if record.status != "valid":
            return
        wanted = self._values.get(record.scenario_id, {})
        for metric, value in trial_means(record).items():
            if (record.label, metric) in wanted:
                wanted[record.label, metric].append((record.round, value))

    def missing(
        self, number: int, active: Iterable[str]
    ) -> list[tuple[Visit, Sequence[PlannedTrial]]]:
        """Visits of a round, in order, with their trials that are not recorded."""
        return [
            (visit, missing)
            for visit in visits(self._workflow, number, only=active)
            if (missing := [t for t in visit.trials if t.trial_id not in self._recorded])
        ]

    def stopping(self, number: int, active: Iterable[str]) -> dict[str, str]:
        """Scenarios that may stop after a round -> why. The variants of a block stop together:
        one that went on alone would have rounds that no other is to be compared with."""
        reasons = {
            name: stop_reason(self._workflow.design, number, self._known(name, number))
            for name in active
        }
        going_on = {
            scenario.id
            for block in scenario_blocks(self._workflow)
            if any(reasons.get(scenario.id, "") is None for scenario in block)
            for scenario in block
        }
        return {
            name: reason
            for name, reason in reasons.items()
            if reason is not None and name not in going_on
        }

    def due(self, number: int) -> list[TrialRecord]:
        """Trials of a round that the noise gate wants to be run again."""
        gate = self._workflow.design.noise_gate
        return [] if gate is None else due(self.records, number, gate, self.planned()[0])

    def planned(self) -> tuple[int, int]:
        """Trials that are planned (warm-up and further rounds left out), and those of them that
        are recorded."""
        design = self._workflow.design
        rounds = range(1, design.rounds + 1)
        ids = {t.trial_id for n in rounds for v in visits(self._workflow, n) for t in v.trials}
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
        """What was known after a round: a resumed run decides as the dead one did, though it has
        the trials of later rounds already."""
        return {
            key: [value for round_, value in pairs if round_ <= round_number]
            for key, pairs in self._values[scenario_id].items()
        }


def _primary_metrics(scenario: Scenario) -> list[tuple[str, str]]:
    return [
        (spec.label, metric.name)
        for spec in scenario.probes
        for metric in plugins.load("probe", spec.probe).metrics(spec.parameters)
        if metric.primary
    ]
