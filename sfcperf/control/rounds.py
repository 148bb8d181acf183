"""Rounds: warm-up, planned rounds, and further ones until each scenario may stop."""

from __future__ import annotations

from collections.abc import Iterable

from sfcperf.control.context import RunContext
from sfcperf.control.tally import Tally
from sfcperf.control.visit import VisitRunner
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import PlannedTrial, Visit, visits


class Rounds:
    """The order of all that is measured follows from the workflow and from the trials that are
    recorded already; so a resumed run goes on exactly where the dead one would have."""

    def __init__(self, run: RunContext, workflow: Workflow) -> None:
        self._run = run
        self._workflow = workflow
        self._warm = False
        self._tally = Tally(workflow, run.store.trials())

    def run(self) -> None:
        """Measure until every scenario has a reason to stop; the reasons go to run.json."""
        active = [scenario.id for scenario in self._workflow.scenarios]
        stopping: dict[str, str] = {}
        number = 0
        while active:
            number += 1
            self._round(number, active)
            stopping.update(self._tally.stopping(number, active))
            self._run.manifest.update({"stopping": stopping})
            active = [name for name in active if name not in stopping]

    def planned(self) -> tuple[int, int]:
        """Trials that are planned (warm-up included, further rounds not), and those of them that
        are recorded already or need no warm-up any more."""
        design = self._workflow.design
        total, done = self._tally.planned()
        warmup = design.warmup_rounds * total // design.rounds if done < total else 0
        return total + warmup, done

    def _round(self, number: int, active: Iterable[str]) -> None:
        todo = self._tally.missing(number, active)
        if todo and number > self._workflow.design.rounds:
            self._run.listener.more_trials(sum(len(missing) for _, missing in todo))
        if todo and not self._warm:
            self._warm_up(active)
        for visit, missing in todo:
            for record in self._visit(visit, missing):
                self._tally.take(record)

    def _warm_up(self, active: Iterable[str]) -> None:
        """Once per session: caches, frequencies and page tables are cold again after a crash."""
        self._warm = True
        for number in range(1, self._workflow.design.warmup_rounds + 1):
            for visit in visits(self._workflow, number, warmup=True, only=active):
                self._visit(visit, visit.trials)

    def _visit(self, visit: Visit, trials: Iterable[PlannedTrial]) -> list[TrialRecord]:
        runner = VisitRunner(self._run, visit, self._workflow.design.max_retries)
        return runner.run(tuple(trials))
