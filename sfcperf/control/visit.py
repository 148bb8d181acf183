"""A visit: one scenario is deployed, and its trials of the round run one after another."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfcperf.control.attempt import Attempt, attempt, health, now
from sfcperf.control.chain import Chain, Standing
from sfcperf.control.context import RunContext
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.results.documents import trial_document
from sfcperf.results.noise_gate import outside
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import NoiseGate
from sfcperf.workflow.plan import PlannedTrial, Visit


@dataclass
class _Tries:
    """The attempts at one trial so far."""

    count: int = 0
    reasons: list[str] = field(default_factory=list)
    started_at: str = ""
    deployment: Mapping[str, Any] = field(default_factory=dict)


class VisitRunner:
    """Runs the trials of one visit and records each exactly once."""

    def __init__(
        self, run: RunContext, visit: Visit, max_retries: int, gate: NoiseGate | None = None
    ) -> None:
        self._run = run
        self._store = run.store
        self._listener = run.listener
        self._visit = visit
        # A warm-up trial counts nowhere: what fails there will be retried where it counts.
        self._tries_allowed = 1 if visit.warmup else 1 + max_retries
        self._gate = None if visit.warmup else gate
        self._chain = Chain(run, visit)
        self._failed_deployments: list[str] = []

    def run(self, trials: Sequence[PlannedTrial]) -> list[TrialRecord]:
        """Run these trials of the visit, in this order, and give their records."""
        self._listener.visit_started(self._visit)
        try:
            return [self._trial(trial) for trial in trials]
        finally:
            self._chain.fall()

    def _trial(self, trial: PlannedTrial) -> TrialRecord:
        self._run.interrupts.check()
        # An unfinished attempt of a killed run: the trial has no record, so this is no result.
        shutil.rmtree(self._store.raw(trial.trial_id))
        tries = _Tries()
        while tries.count < self._tries_allowed:
            tries.count += 1
            tries.started_at = now()
            self._listener.trial_started(trial, tries.count)
            folder = self._store.raw(f"{trial.trial_id}/attempt-{tries.count}")
            done = self._try(trial, tries, folder)
            if done is not None:
                return self._record(trial, tries, done)
            if len(self._failed_deployments) >= self._tries_allowed:
                break
        return self._record(trial, tries, None)

    def _try(self, trial: PlannedTrial, tries: _Tries, folder: Path) -> Attempt | None:
        """One attempt; None when it failed, with the reason in `tries`."""
        standing = self._stand(tries, folder)
        if standing is None:
            return None
        tries.deployment = standing.facts
        # The attempt's own time: deployment and proof are not part of it.
        tries.started_at = now()
        self._run.enter("measuring")
        try:
            done = attempt(self._run, trial, standing.deployment, folder)
            # What cannot be written (a sample that is no number, notes that are no JSON) is no
            # result; better an attempt that failed than a record that is refused.
            trial_document(_record(trial, tries, done, self._gate))
            return done
        except Exception as error:
            tries.reasons.append(f"attempt {tries.count}: {describe(error)}")
            keep_traceback(error, folder / "error.txt")
        if health(self._run.driver_of(trial.scenario), standing.deployment):
            self._chain.fall()
        return None

    def _stand(self, tries: _Tries, folder: Path) -> Standing | None:
        """The proven deployment; None when it cannot be had. Failures count for the visit: a
        chain that cannot be built is not tried anew for each of its trials."""
        if len(self._failed_deployments) >= self._tries_allowed:
            tries.reasons += self._failed_deployments
            return None
        try:
            return self._chain.stand()
        except Exception as error:
            reason = f"deployment {len(self._failed_deployments) + 1}: {describe(error)}"
            self._failed_deployments.append(reason)
            tries.reasons.append(reason)
            keep_traceback(error, folder / "error.txt")
            self._chain.fall()
            return None

    def _record(self, trial: PlannedTrial, tries: _Tries, done: Attempt | None) -> TrialRecord:
        """Keep the trial: from here on it is done, and no resumed run repeats it."""
        record = _record(trial, tries, done, self._gate)
        if done is not None and not trial.warmup:
            self._store.write_trial_telemetry(record, done.observations)
        self._store.append_trial(record, warmup=trial.warmup)
        if done is not None and trial.warmup:
            shutil.rmtree(self._store.raw(trial.trial_id))
        self._listener.trial_ended(trial, record)
        return record


def _record(
    trial: PlannedTrial, tries: _Tries, done: Attempt | None, gate: NoiseGate | None
) -> TrialRecord:
    status: Literal["valid", "untrusted", "failed"] = "failed"
    reasons = tuple(tries.reasons)
    notes: dict[str, Any] = {}
    if done is not None:
        reasons = (*done.result.untrusted, *(outside(done.noise, gate) if gate else ()))
        status = "untrusted" if reasons else "valid"
        notes = dict(done.result.notes)
        if tries.reasons:
            notes["failed_attempts"] = tries.reasons
        if done.drops:
            notes["sf_drops"] = dict(done.drops)
    return TrialRecord(
        trial_id=trial.trial_id,
        scenario_id=trial.scenario.id,
        scenario=dict(trial.scenario.levels),
        round=trial.round,
        probe=trial.probe.probe,
        label=trial.probe.label,
        status=status,
        reasons=reasons,
        started_at=tries.started_at,
        ended_at=now(),
        samples=() if done is None else tuple(asdict(sample) for sample in done.result.samples),
        attempts=tries.count,
        deployment=dict(tries.deployment),
        packets={} if done is None else dict(done.packets),
        notes=notes,
        series={} if done is None else {k: list(v) for k, v in done.result.series.items()},
        raw=f"raw/{trial.trial_id}",
        rerun_of=trial.rerun_of,
        noise={} if done is None else dict(done.noise),
    )
