"""Reruns: which trials outside the noise gate are run again, by what is recorded alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sfcperf.results.noise_gate import budget, is_outside, standing
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import NoiseGate
from sfcperf.workflow.plan import PlannedTrial, Visit


def due(
    records: Sequence[TrialRecord], round_number: int, gate: NoiseGate, planned: int
) -> list[TrialRecord]:
    """Trials of a round to run again now, in the order in which they were run: those that stand
    outside, were not run again as often as allowed, and for which there is budget left."""
    left = budget(gate, planned) - sum(bool(record.rerun_of) for record in records)
    wanted = [
        record
        for record in standing(records)
        if record.round == round_number
        and is_outside(record)
        and rerun_number(record.trial_id) < gate.max_reruns
    ]
    return wanted[: max(0, left)]


def rerun_number(trial_id: str) -> int:
    """0 for a planned trial, 2 for the second rerun: `r001.2-s000-ping`."""
    number = trial_id.partition("-")[0].partition(".")[2]
    return int(number or 0)


def rerun_visits(visits: Iterable[Visit], wanted: Sequence[TrialRecord]) -> list[Visit]:
    """The visits of a round cut down to the trials that are run again, under new ids."""
    again = {(record.scenario_id, record.label): record for record in wanted}
    cut = [
        replace(
            visit,
            trials=tuple(
                _rerun(trial, again[key])
                for trial in visit.trials
                if (key := (visit.scenario.id, trial.probe.label)) in again
            ),
        )
        for visit in visits
    ]
    return [visit for visit in cut if visit.trials]


def _rerun(trial: PlannedTrial, record: TrialRecord) -> PlannedTrial:
    head, _, rest = trial.trial_id.partition("-")
    number = rerun_number(record.trial_id) + 1
    return replace(trial, trial_id=f"{head}.{number}-{rest}", rerun_of=record.trial_id)
