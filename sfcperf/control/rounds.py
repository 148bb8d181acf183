"""Rounds: warm-up, planned rounds, and further ones until each scenario may stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from sfcperf.control import reruns
from sfcperf.control.context import RunContext
from sfcperf.control.sentinel import Sentinel, settle
from sfcperf.control.tally import Tally
from sfcperf.control.visit import VisitRunner
from sfcperf.results import noise_gate
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.noise_gate import sentinel_scenario
from sfcperf.workflow.plan import PlannedTrial, Visit, visits

Todo = Sequence[tuple[Visit, Sequence[PlannedTrial]]]


class Rounds:
    """The order of all that is measured follows from the workflow and from what is recorded
    already; so a resumed run goes on exactly where the dead one would have."""

    def __init__(self, run: RunContext, workflow: Workflow) -> None:
        self._run = run
        self._workflow = workflow
        self._gate = workflow.design.noise_gate
        self._warm = False
        self._tally = Tally(workflow, run.store.trials())
        self._sentinel = self._make_sentinel()

    def run(self) -> None:
        """Measure until every scenario has a reason to stop; the reasons go to run.json."""
        active = [scenario.id for scenario in self._workflow.scenarios]
        stopping: dict[str, str] = {}
        number = 0
        while active:
            number += 1
            self._round(number, active)
            self._rerun(number, active)
            stopping.update(self._tally.stopping(number, active))
            self._run.manifest.update({"stopping": stopping, **self._account()})
            active = [name for name in active if name not in stopping]

    def planned(self) -> tuple[int, int]:
        """Trials that are planned (warm-up included, further rounds and reruns not), and those of
        them that are recorded already or need no warm-up any more."""
        design = self._workflow.design
        total, done = self._tally.planned()
        warmup = design.warmup_rounds * total // design.rounds if done < total else 0
        return total + warmup, done

    def _make_sentinel(self) -> Sentinel | None:
        scenario = sentinel_scenario(self._workflow)
        if scenario is None or self._gate is None or self._gate.sentinel is None:
            return None
        return Sentinel(self._run, self._gate.sentinel, scenario, self._gate.settle_s)

    def _round(self, number: int, active: Iterable[str]) -> None:
        active = list(active)
        todo = self._tally.missing(number, active)
        if todo and number > self._workflow.design.rounds:
            self._run.listener.more_trials(sum(len(missing) for _, missing in todo))
        self._measure(number, todo, active)

    def _measure(self, number: int, todo: Todo, active: Iterable[str]) -> None:
        """Visits in blocks, each of which the sentinel closes; also that of a killed session."""
        size = self._block_size() or max(1, len(todo))
        if todo or self._unread(number):
            self._warm_up(active)
        for begin in range(0, len(todo), size):
            self._close(number)
            for visit, missing in todo[begin : begin + size]:
                for record in self._visit(visit, missing):
                    self._tally.take(record)
        self._close(number)

    def _block_size(self) -> int | None:
        """Visits in a block; the variants that are compared with each other are in one."""
        if self._gate is None or self._gate.sentinel is None:
            return None
        together = max(1, len(self._workflow.variants))
        return together * ceil(self._gate.sentinel.every_visits / together)

    def _close(self, number: int) -> None:
        unread = self._unread(number)
        if self._sentinel is not None and unread and self._sentinel.close(number, unread).marks:
            # Trials that counted do not any more.
            self._tally = Tally(self._workflow, self._run.store.trials())

    def _unread(self, number: int) -> list[str]:
        """Trials of a round since the last reading of the sentinel."""
        if self._sentinel is None:
            return []
        read = self._sentinel.read_trials
        records = self._tally.records
        return [r.trial_id for r in records if r.round == number and r.trial_id not in read]

    def _rerun(self, number: int, active: Iterable[str]) -> None:
        """Run again what the gate distrusts, until nothing is, or the budget is used up."""
        if self._gate is None:
            return
        active = list(active)
        while wanted := self._tally.due(number):
            turn = max(reruns.rerun_number(record.trial_id) for record in wanted)
            settle(self._run, self._gate.settle_s * 2**turn)
            again = reruns.rerun_visits(visits(self._workflow, number), wanted)
            self._run.listener.more_trials(len(wanted))
            self._measure(number, [(visit, visit.trials) for visit in again], active)

    def _account(self) -> dict[str, object]:
        if self._gate is None:
            return {}
        total, _ = self._tally.planned()
        readings = self._run.store.readings()
        return {"noise": noise_gate.account(self._tally.records, readings, self._gate, total)}

    def _warm_up(self, active: Iterable[str]) -> None:
        """Once per session: caches, frequencies and page tables are cold again after a crash."""
        if self._warm:
            return
        self._warm = True
        for number in range(1, self._workflow.design.warmup_rounds + 1):
            for visit in visits(self._workflow, number, warmup=True, only=active):
                self._visit(visit, visit.trials)
        if self._sentinel is not None:
            self._sentinel.calibrate()

    def _visit(self, visit: Visit, trials: Iterable[PlannedTrial]) -> list[TrialRecord]:
        runner = VisitRunner(self._run, visit, self._workflow.design.max_retries, self._gate)
        return runner.run(tuple(trials))
