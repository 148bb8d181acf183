"""Rounds: measures warm-up, planned rounds, and further rounds until each scenario may stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from sfcperf.control.context import RunContext
from sfcperf.control.progress_state import ProgressState, rerun_groups, rerun_number
from sfcperf.control.trials.group import TrialGroupRunner
from sfcperf.control.trials.sentinel import Sentinel, settle
from sfcperf.results import noise_gate
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.noise_gate import sentinel_scenario
from sfcperf.workflow.plan import TrialGroup, block_size, trial_group_s, trial_groups, warmup_s


class Rounds:
    """Measures the trials of a run. Their order follows from the workflow and the recorded trials
    alone, so a resumed run continues exactly as the dead one would have. Each session makes one,
    and calls `run` once. In the methods, `number` is the number of a round, and `active` has the
    ids of the scenarios that have not stopped."""

    def __init__(self, run: RunContext, workflow: Workflow) -> None:
        self._run = run
        self._workflow = workflow
        self._gate = workflow.design.noise_gate
        self._warm = False
        """Whether this session has run its warm-up trials."""
        self._progress = ProgressState(workflow, run.store.trials())
        self._measured = {record.trial_id for record in self._progress.records}
        self._sentinel: Sentinel | None = None
        scenario = sentinel_scenario(workflow)
        if scenario is not None and self._gate is not None and self._gate.sentinel is not None:
            self._sentinel = Sentinel(run, self._gate.sentinel, scenario, self._gate.settle_s)

    def run(self) -> None:
        """Measure until every scenario has a reason to stop; the reasons go to run.json."""
        active = [scenario.id for scenario in self._workflow.scenarios]
        stopping: dict[str, str] = {}
        number = 0
        while active:
            number += 1
            todo = self._progress.missing(number, active)
            if todo and number > self._workflow.design.rounds:
                self._tell_more(todo, "intervals are still too wide")
            self._measure(number, todo, active)
            self._rerun(number, active)
            stopping.update(self._progress.stopping(number, active))
            self._run.manifest.update({"stopping": stopping, **self._account()})
            active = [name for name in active if name not in stopping]

    def measured(self) -> set[str]:
        """Ids of all trials that were recorded, in this session or before."""
        return self._measured

    def planned(self) -> tuple[int, int, float]:
        """Return three numbers for the display. First: the planned trials, with this session's
        warm-up if it needs one; further rounds and reruns are left out. Second: how many of them
        are recorded. Third: the estimated time of the others, seconds."""
        design = self._workflow.design
        total, done = self._progress.planned()
        if done == total:
            return total, done, 0.0
        active = [scenario.id for scenario in self._workflow.scenarios]
        missing = (self._progress.missing(n + 1, active) for n in range(design.rounds))
        planned_s = warmup_s(self._workflow) + _time_s(chain.from_iterable(missing))
        # A round, of warm-up or not, has total / rounds trials.
        return total + design.warmup_rounds * total // design.rounds, done, planned_s

    def _tell_more(self, groups: Sequence[TrialGroup], reason: str) -> None:
        """Tell the display that the plan has grown by these groups, and why."""
        trials = sum(len(group.trials) for group in groups)
        self._run.listener.more_trials(trials, _time_s(groups), reason)

    def _measure(self, number: int, todo: Sequence[TrialGroup], active: Sequence[str]) -> None:
        """Measure the groups in `todo`, which are of this round, in blocks. The sentinel is read
        after each block, and before the first one if a killed session left trials without a
        reading. Warm-up trials of the `active` scenarios come first, once per session."""
        size = max(1, len(todo))  # without a sentinel, there is one block
        if (sentinel := self._workflow.design.sentinel) is not None:
            size = block_size(self._workflow, sentinel)
        if todo or self._unread(number):
            self._warm_up(active)
        for begin in range(0, len(todo), size):
            self._close(number)  # the block before, or what a killed session left
            for group in todo[begin : begin + size]:
                for record in self._run_group(group):
                    self._progress.add(record)
                    self._measured.add(record.trial_id)
        self._close(number)

    def _close(self, number: int) -> None:
        """Read the sentinel, if there is one and trials have been measured since it was last
        read."""
        unread = self._unread(number)
        if self._sentinel is not None and unread and self._sentinel.close(number, unread).marks:
            # The reading has marked the trials of its block: they do not count any more. The store
            # applies its marks when the records are read again.
            self._progress = ProgressState(self._workflow, self._run.store.trials())

    def _unread(self, number: int) -> list[str]:
        """Ids of the trials of a round that no reading of the sentinel covers yet; none without a
        sentinel."""
        if self._sentinel is None:
            return []
        read = self._sentinel.read_trials
        records = self._progress.records
        return [r.trial_id for r in records if r.round == number and r.trial_id not in read]

    def _rerun(self, number: int, active: Sequence[str]) -> None:
        """Run again the trials that the gate distrusts, until none is left or the budget is used
        up."""
        if self._gate is None:
            return
        while distrusted := self._progress.due(number):
            # The pause doubles with each rerun that did not help.
            turn = max(rerun_number(record.trial_id) for record in distrusted)
            settle(self._run, self._gate.settle_s * 2**turn)
            groups = rerun_groups(trial_groups(self._workflow, number), distrusted)
            self._tell_more(groups, "the noise gate does not accept all trials")
            self._measure(number, groups, active)

    def _account(self) -> dict[str, object]:
        """The noise gate's summary for run.json; empty without a gate."""
        if self._gate is None:
            return {}
        total, _ = self._progress.planned()
        readings = self._run.store.readings()
        return {"noise": noise_gate.account(self._progress.records, readings, self._gate, total)}

    def _warm_up(self, active: Iterable[str]) -> None:
        """Run the warm-up trials, once per session: after a crash, caches, CPU frequencies and page
        tables are cold again."""
        if self._warm:
            return
        self._warm = True
        for number in range(1, self._workflow.design.warmup_rounds + 1):
            for group in trial_groups(self._workflow, number, warmup=True, only=active):
                self._run_group(group)
        if self._sentinel is not None:
            self._sentinel.calibrate()

    def _run_group(self, group: TrialGroup) -> list[TrialRecord]:
        """Run one group as a part of its round in the timeline; return the trials' records."""
        max_retries = self._workflow.design.max_retries
        name = f"{'warm-up' if group.warmup else 'round'} {group.round}"
        attributes = {"sfcperf.round": group.round, "sfcperf.warmup": group.warmup}
        with self._run.timeline.part(name, attributes, continued=True):
            return TrialGroupRunner(self._run, group, max_retries, self._gate).run()


def _time_s(groups: Iterable[TrialGroup]) -> float:
    """Estimated time of these groups, seconds."""
    return sum(map(trial_group_s, groups))
