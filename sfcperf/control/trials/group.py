"""Runs a trial group: one scenario is deployed, and its trials of the round run in order."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from sfcperf.active.validity import loss_doubts
from sfcperf.control.context import RunContext
from sfcperf.control.faults import keep_traceback
from sfcperf.control.trials.attempt import Attempt, attempt, failed_attempt, health
from sfcperf.control.trials.chain_deployment import ChainDeployment, ProvenChain
from sfcperf.errors import CannotBeMeasured
from sfcperf.results import jsonl
from sfcperf.results.documents import read_record, trial_document
from sfcperf.results.flows import FLOWS
from sfcperf.results.noise_gate import outside
from sfcperf.results.records import SCHEMA_VERSION, FailedAttempt, TrialRecord, utc_now
from sfcperf.results.tables import TELEMETRY
from sfcperf.workflow.model import NoiseGate
from sfcperf.workflow.plan import PlannedTrial, TrialGroup

_FAILED_ATTEMPTS = "failed-attempts.jsonl"
"""File in a trial's raw folder with a line per failed attempt, as in the trial's record."""


@dataclass
class _Attempts:
    """Counts the attempts at one trial, and keeps what is known about them until the trial is
    recorded."""

    count: int = 0
    """Attempts so far, those of killed sessions included: the number of the one under way."""
    failed: list[FailedAttempt] = field(default_factory=list)
    of_group: list[str] = field(default_factory=list)
    """Why the chain could not be deployed for earlier trials of the group."""
    started_at: str = ""
    """Start of the latest attempt, as in records."""
    started_s: float = 0.0
    """The same by the monotonic clock, seconds."""
    deployment: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the latest proven deployment; empty before the first."""
    are_over: bool = False
    """Whether no further attempt can succeed."""

    def starts(self) -> None:
        """Take the time at which an attempt begins."""
        self.started_at, self.started_s = utc_now(), monotonic()

    def reasons(self) -> tuple[str, ...]:
        """Why the trial has no result, each reason once: those of its failed attempts, then those
        of the group. Attempts are named if they failed for several reasons."""
        numbers: dict[str, list[str]] = {}
        for failed in self.failed:
            numbers.setdefault(failed.reason, []).append(str(failed.attempt))
        if len(numbers) > 1:
            own = [f"attempt {', '.join(found)}: {text}" for text, found in numbers.items()]
        else:
            own = [*numbers]
        return (*own, *(text for text in dict.fromkeys(self.of_group) if text not in numbers))


class TrialGroupRunner:
    """Runs the trials of one group and records each exactly once. `Rounds` makes one per group, and
    calls `run`."""

    def __init__(
        self, run: RunContext, group: TrialGroup, max_retries: int, gate: NoiseGate | None
    ) -> None:
        self._run = run
        self._store = run.store
        self._listener = run.listener
        self._group = group
        # Warm-up trials are not part of the results: there is no need to retry them.
        self._tries_allowed = 1 if group.warmup else 1 + max_retries
        self._gate = None if group.warmup else gate
        self._chain = ChainDeployment(run, group)
        self._failed_deployments: list[str] = []
        """Why the chain could not be deployed or proven, a line for each time."""

    def run(self) -> list[TrialRecord]:
        """Run the trials in their order and return their records."""
        scenario = self._group.scenario
        levels = {f"sfcperf.factor.{name}": str(level) for name, level in scenario.levels.items()}
        self._listener.trial_group_started(self._group)
        with self._run.timeline.part(f"scenario {scenario.id}", levels):
            try:
                return [self._traced_trial(trial) for trial in self._group.trials]
            finally:
                self._chain.remove()

    def _traced_trial(self, trial: PlannedTrial) -> TrialRecord:
        """Run a trial as a part of the timeline, which a trace shows with its status."""
        self._run.interrupts.check()  # for a signal that came between two trials
        about = {"sfcperf.trial_id": trial.trial_id, "sfcperf.probe": trial.probe.probe}
        with self._run.timeline.part(f"trial {trial.probe.label}", about) as span:
            record = self._trial(trial)
            span.attributes["sfcperf.status"] = record.status
            span.attributes["sfcperf.attempts"] = record.attempts
            if record.status == "failed":
                span.error = "; ".join(record.reasons)
        return record

    def _trial(self, trial: PlannedTrial) -> TrialRecord:
        """Try a trial until an attempt succeeds or no more is allowed. Record it, and return the
        record."""
        folder = self._store.raw(trial.trial_id)
        # Each session has warm-up trials of its own: attempts of earlier sessions do not count.
        earlier = [] if trial.warmup else _failed_before(folder / _FAILED_ATTEMPTS)
        _remove_unfinished(folder, earlier)
        tries = _Attempts(count=len(earlier), failed=[*earlier])
        # A resumed session may make as many attempts as any other.
        while tries.count < self._tries_allowed + len(earlier):
            tries.count += 1
            tries.starts()
            self._listener.trial_started(trial, tries.count)
            folder = self._store.raw(f"{trial.trial_id}/attempt-{tries.count}")
            done = self._try(trial, tries, folder)
            if done is not None:
                return self._record(trial, tries, done)
            if tries.are_over or len(self._failed_deployments) >= self._tries_allowed:
                break
        return self._record(trial, tries, None)

    def _try(self, trial: PlannedTrial, tries: _Attempts, folder: Path) -> Attempt | None:
        """Make one attempt. None: it failed, and `tries` has the reason."""
        chain = self._ensure_chain(trial, tries, folder)
        if chain is None:
            return None
        tries.deployment = chain.facts
        # The attempt begins here: deployment and proof are not part of its time.
        tries.starts()
        self._run.enter("measuring")
        try:
            done = attempt(self._run, trial, chain.deployment, folder)
            # Convert the result as for the record, and drop that. A result that cannot be written
            # (a sample that is not a number, notes that are not JSON) fails the attempt here.
            record = _record_of(trial, tries, done, self._gate)
            trial_document(record)
            TELEMETRY.table(record, done.observed.observations)
            FLOWS.table(record, done.observed.flows)
            return done
        except Exception as error:
            # If the run folder is gone, this raises: then the attempt is not to blame.
            self._store.check_not_moved()
            self._note(
                trial, failed_attempt(self._run, tries.count, error, chain.deployment), tries
            )
            keep_traceback(error, folder / "error.txt")
            if isinstance(error, CannotBeMeasured):
                tries.are_over = True
        # A chain with problems is removed, so that the next attempt deploys it anew.
        if health(self._run.driver_of(trial.scenario), chain.deployment):
            self._chain.remove()
        return None

    def _note(self, trial: PlannedTrial, failed: FailedAttempt, tries: _Attempts) -> None:
        """Add a failed attempt to `tries`, and keep it on disk: a run that is killed in the next
        attempt would forget it. Warm-up trials are not part of the results, so what failed in one
        is noted as a problem of the run."""
        tries.failed.append(failed)
        line = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(failed)})
        jsonl.append(self._store.raw(trial.trial_id) / _FAILED_ATTEMPTS, line)
        if trial.warmup:
            self._run.note(f"{trial.trial_id} failed: {failed.reason}")

    def _ensure_chain(
        self, trial: PlannedTrial, tries: _Attempts, folder: Path
    ) -> ProvenChain | None:
        """Return the proven chain; None when it cannot be had. Failures count for the whole group:
        a chain that cannot be built is not tried again for each trial of the group."""
        if len(self._failed_deployments) >= self._tries_allowed:
            tries.of_group += self._failed_deployments
            return None
        try:
            return self._chain.ensure()
        except Exception as error:
            self._store.check_not_moved()
            failed = failed_attempt(self._run, tries.count, error, self._chain.deployment)
            self._failed_deployments.append(failed.reason)
            self._note(trial, failed, tries)
            keep_traceback(error, folder / "error.txt")
            self._chain.remove()
            return None

    def _record(self, trial: PlannedTrial, tries: _Attempts, done: Attempt | None) -> TrialRecord:
        """Record the trial, and return the record. From now on it is done, and no resumed run
        repeats it. `done` None: all attempts failed."""
        record = _record_of(trial, tries, done, self._gate)
        if done is not None and not trial.warmup:
            self._store.write_trial_telemetry(record, done.observed.observations)
            self._store.write_trial_flows(record, done.observed.flows)
        # After its telemetry: a trial that is recorded is complete.
        self._store.append_trial(record, warmup=trial.warmup)
        if done is not None and trial.warmup:
            shutil.rmtree(self._store.raw(trial.trial_id))
        self._listener.trial_ended(trial, record)
        return record


def _failed_before(file: Path) -> list[FailedAttempt]:
    """Read which attempts at a trial failed in earlier sessions, which were killed before the trial
    was recorded. Empty if there is no file. An incomplete last line is cut off the file, because
    further lines are appended to it."""
    jsonl.cut_incomplete_line(file)
    rows = jsonl.read(file)
    return [read_record(FailedAttempt, row, f"{file}:{line}") for line, row in rows]


def _remove_unfinished(folder: Path, earlier: Sequence[FailedAttempt]) -> None:
    """Remove what the unfinished attempt of a killed run left in the trial's folder. Failed
    attempts in `earlier` keep their folders."""
    kept = {f"attempt-{failed.attempt}" for failed in earlier}
    kept |= {_FAILED_ATTEMPTS} if earlier else set()
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _record_of(
    trial: PlannedTrial, tries: _Attempts, done: Attempt | None, gate: NoiseGate | None
) -> TrialRecord:
    """Make the record of a trial from its attempts. `done` None: all of them failed."""
    status: Literal["valid", "untrusted", "failed"] = "failed"
    reasons = tries.reasons()
    notes: dict[str, Any] = {}
    if done is not None:
        noisy = outside(done.noise, gate) if gate else ()
        of_probe = (*done.result.untrusted, *loss_doubts(done.result.loss))
        reasons = (*done.clock, *of_probe, *done.unfinished, *noisy)
        status = "untrusted" if reasons else "valid"
        notes = dict(done.result.notes)
        if done.drops:
            notes["sf_drops"] = dict(done.drops)
        if done.counters:
            notes["sf_counters"] = dict(done.counters)
        if done.unparsed:
            notes["unparsed_frames"] = dict(done.unparsed)
        if done.services:
            notes["services"] = {name: dict(grown) for name, grown in done.services.items()}
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
        ended_at=utc_now(),
        samples=() if done is None else tuple(asdict(sample) for sample in done.result.samples),
        attempts=tries.count,
        deployment=dict(tries.deployment),
        packets={} if done is None else dict(done.packets),
        notes=notes,
        series={} if done is None else {k: list(v) for k, v in done.result.series.items()},
        raw=f"raw/{trial.trial_id}",
        rerun_of=trial.rerun_of,
        noise={} if done is None else dict(done.noise),
        duration_s=round(monotonic() - tries.started_s, 6),  # of the latest attempt
        series_step_s=None if done is None else done.result.series_step_s,
        failed_attempts=tuple(tries.failed),
        loss=None if done is None else done.result.loss,
    )
