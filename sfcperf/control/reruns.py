"""Reruns: which trials outside the noise gate are run again, by what is recorded alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from math import floor
from typing import Any

from sfcperf.results.gate import Reading, is_outside, standing
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import NoiseGate
from sfcperf.workflow.plan import PlannedTrial, Visit


def budget(gate: NoiseGate, planned: int) -> int:
    """Reruns that a run of so many planned trials may have."""
    return floor(gate.budget_ratio * planned)


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


def account(
    records: Sequence[TrialRecord],
    readings: Sequence[Reading],
    gate: NoiseGate,
    planned: int,
) -> dict[str, Any]:
    """What the gate came to, for `noise` of run.json."""
    return {
        "limits": asdict(gate),
        "trials_outside": sum(is_outside(record) for record in records),
        "reruns": sum(bool(record.rerun_of) for record in records),
        "reruns_allowed": budget(gate, planned),
        "trials_that_stay_outside": sum(is_outside(record) for record in standing(records)),
        "sentinel_readings": len(readings),
        "sentinel_departed": sum(reading.departed for reading in readings),
    }


def account_text(account: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    stay = account["trials_that_stay_outside"]
    return (
        f"noise gate: {_count(account['trials_outside'], 'trial')} outside, "
        f"{_count(account['reruns'], 'rerun')} of {account['reruns_allowed']} allowed, "
        f"{_count(stay, 'trial')} {'stays' if stay == 1 else 'stay'} outside"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
