"""Rounds: warm-up, planned rounds, and further ones until each scenario may stop."""

from __future__ import annotations

from collections.abc import Iterable

from sfcperf import plugins
from sfcperf.analysis.stopping import stop_reason
from sfcperf.analysis.trial_values import trial_means
from sfcperf.control.context import RunContext
from sfcperf.control.visit import VisitRunner
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Scenario, Workflow
from sfcperf.workflow.plan import PlannedTrial, Visit, visits


class Rounds:
    """The order of all that is measured follows from the workflow and from the trials that are
    recorded already; so a resumed run goes on exactly where the dead one would have."""

    def __init__(self, run: RunContext, workflow: Workflow) -> None:
        self._run = run
        self._workflow = workflow
        self._warm = False
        self._values: dict[str, dict[tuple[str, str], list[tuple[int, float]]]] = {
            scenario.id: {key: [] for key in _primary_metrics(scenario)}
            for scenario in workflow.scenarios
        }
        """Scenario -> (label, metric) -> round and value of each valid trial."""
        self._recorded: set[str] = set()
        for record in run.store.trials():
            self._take(record)

    def run(self) -> None:
        """Measure until every scenario has a reason to stop; the reasons go to run.json."""
        scenarios = {scenario.id: scenario for scenario in self._workflow.scenarios}
        stopping: dict[str, str] = {}
        round_number = 0
        while active := [name for name in scenarios if name not in stopping]:
            round_number += 1
            self._round(round_number, active)
            for name in active:
                known = self._known(name, round_number)
                reason = stop_reason(self._workflow.design, round_number, known)
                if reason is not None:
                    stopping[name] = reason
            self._run.manifest.update({"stopping": stopping})

    def planned(self) -> tuple[int, int]:
        """Trials that are planned (warm-up included, further rounds not), and those of them that
        are recorded already or need no warm-up any more."""
        design = self._workflow.design
        per_round = sum(len(scenario.probes) for scenario in self._workflow.scenarios)
        total = per_round * design.rounds
        done = min(len(self._recorded), total)
        warmup = per_round * design.warmup_rounds if done < total else 0
        return total + warmup, done

    def _round(self, number: int, active: Iterable[str]) -> None:
        todo = [
            (visit, missing)
            for visit in visits(self._workflow, number, only=active)
            if (missing := [t for t in visit.trials if t.trial_id not in self._recorded])
        ]
        if todo and number > self._workflow.design.rounds:
            self._run.listener.more_trials(sum(len(missing) for _, missing in todo))
        if todo and not self._warm:
            self._warm_up(active)
        for visit, missing in todo:
            for record in self._visit(visit, missing):
                self._take(record)

    def _warm_up(self, active: Iterable[str]) -> None:
        """Once per session: caches, frequencies and page tables are cold again after a crash."""
        self._warm = True
        for number in range(1, self._workflow.design.warmup_rounds + 1):
            for visit in visits(self._workflow, number, warmup=True, only=active):
                self._visit(visit, visit.trials)

    def _visit(self, visit: Visit, trials: Iterable[PlannedTrial]) -> list[TrialRecord]:
        runner = VisitRunner(self._run, visit, self._workflow.design.max_retries)
        return runner.run(tuple(trials))

    def _take(self, record: TrialRecord) -> None:
        """Note a recorded trial; only valid ones count for stopping, as they do in summaries."""
        self._recorded.add(record.trial_id)
        if record.status != "valid":
            return
        wanted = self._values.get(record.scenario_id, {})
        for metric, value in trial_means(record).items():
            if (record.label, metric) in wanted:
                wanted[record.label, metric].append((record.round, value))

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
