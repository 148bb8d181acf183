"""Noise gate: which trials are outside its limits, and what its sentinel read.

gate.jsonl (schemas/gate.schema.json) holds a line for each reading of the sentinel; a line is on
disk before the run continues. A trial's line in trials.jsonl never changes: RunStore.trials
applies the marks of the readings when it reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import floor
from typing import Any

from sfcperf.counts import count_text
from sfcperf.results.documents import check_version, read_record
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord
from sfcperf.workflow.model import NoiseGate

GATE_REASON = "noise gate: "
"""Prefix of the reasons for which the gate distrusts a trial."""


@dataclass(frozen=True)
class Reading:
    """One measurement of the sentinel chain."""

    reading_id: str
    """`c001` before the first trial; `r002-b001` after the first block of round 2; `r002-b001.1`
    is the first check after it whether the machine is quiet again."""
    round: int
    """Round of the trials before the reading; 0 for readings before the first trial."""
    started_at: str
    ended_at: str
    probe: str
    metric: str
    unit: str
    value: float | None
    """The measured value; None if it could not be measured: `problem` says why."""
    reference: float | None
    """Median of the good readings before it; None before the first one."""
    change_ratio: float | None
    """Change from `reference` to `value`, a ratio; negative for a smaller value. None without one
    of them."""
    allowed_ratio: float | None
    """The change that the previous readings allow; None while there are too few of them."""
    departed: bool
    """Whether it differs from the reference by more than allowed, or could not be measured."""
    block: tuple[str, ...]
    """Trials since the previous reading."""
    marks: str = ""
    """Why the trials of the block are untrusted; empty if they are not."""
    problem: str = ""
    noise: Mapping[str, Any] = field(default_factory=dict)
    """Load of the machine during the reading, like TrialRecord.noise."""

    @property
    def good(self) -> bool:
        """Whether later readings are compared with this one."""
        return self.value is not None and not self.departed


def gate_document(reading: Reading) -> str:
    """Return a reading as a line of gate.jsonl, without its newline."""
    return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(reading)}, allow_nan=False)


def gate_line(row: Mapping[str, Any], where: str) -> Reading:
    """Return the reading that a line of gate.jsonl holds. Raises InputError if it is not one."""
    check_version(row, where)
    return read_record(Reading, row, where)


def marked(records: Sequence[TrialRecord], readings: Iterable[Reading]) -> list[TrialRecord]:
    """Return the records with the marks of the readings. A marked trial that was valid becomes
    untrusted; an untrusted one gets another reason; a failed one stays as it is."""
    reasons: dict[str, list[str]] = {}
    for reading in readings:
        for trial_id in reading.block if reading.marks else ():
            reasons.setdefault(trial_id, []).append(f"{GATE_REASON}{reading.marks}")
    return [_marked(record, reasons.get(record.trial_id, ())) for record in records]


def is_outside(record: TrialRecord) -> bool:
    """Whether a trial gave a result that the gate distrusts; False for a failed trial."""
    return record.status == "untrusted" and any(
        reason.startswith(GATE_REASON) for reason in record.reasons
    )


def without_replaced(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Return the records without those that a rerun replaces."""
    replaced = {record.rerun_of for record in records}
    return [record for record in records if record.trial_id not in replaced]


def outside(evidence: Mapping[str, Any], limits: NoiseGate) -> tuple[str, ...]:
    """Return why a trial is outside the gate, as reasons of its record; empty if it is inside.
    Evidence that the machine does not provide (None) is ignored.

    Only what the measured value cannot cause puts a trial outside: excluding slow trials because
    they were slow would bias the mean of the others (docs/explanation/noise.md).
    """
    return tuple(
        f"{GATE_REASON}{where}{finding}"
        for where, theirs in _machines(evidence)
        for finding in _findings(theirs, limits)
    )


def steal_meanwhile(evidence: Mapping[str, Any], limits: NoiseGate) -> str:
    """Describe steal beyond the limit while the probe measured; empty if there was none. It is no
    reason to exclude the trial: a slow trial wants a CPU for longer, so that more is stolen."""
    return next(
        (
            f"{where}{steal}"
            for where, theirs in _machines(evidence)
            if (steal := _steal(theirs, "", limits.max_steal_ratio))
        ),
        "",
    )


def _machines(evidence: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the evidence of each machine, with the beginning of what is said about it: nothing for
    the one that runs sfcperf, else its node."""
    yield "", evidence
    for node, theirs in evidence.get("machines", {}).items():
        yield f"{node}: ", theirs


def _findings(evidence: Mapping[str, Any], limits: NoiseGate) -> Iterator[str]:
    """Yield, in words, each value of the evidence that is beyond its limit. A limit that is None is
    not applied."""
    if steal := _steal(evidence, "quiet_", limits.max_steal_ratio):
        yield f"{steal} before or after"
    for key, words, limit in (
        ("run_queue", "run queue per CPU", limits.max_run_queue),
        ("other_cpu_ratio", "CPU used by others", limits.max_other_cpu_ratio),
        ("frequency_drop_ratio", "frequency drop", limits.max_frequency_drop_ratio),
    ):
        value = evidence.get(key)
        if value is not None and limit is not None and value > limit:
            yield f"{words} {_ratio(value, limit)}"
    throttled = evidence.get("throttle_events") or 0
    if throttled > 0 and limits.max_frequency_drop_ratio is not None:
        yield f"a CPU in use was throttled for heat ({count_text(throttled, 'event')})"


def _steal(evidence: Mapping[str, Any], when: str, limit: float | None) -> str:
    """Return `steal 0.12 > 0.05` if steal is beyond the limit, else an empty text. `when`: prefix
    of the evidence's keys."""
    steal = evidence.get(f"{when}steal_ratio")
    if steal is None or limit is None:
        return ""
    # Steal is counted in clock ticks: one of them may belong to the time before or after.
    least = steal - (evidence.get(f"{when}steal_resolution_ratio") or 0)
    return f"steal {_ratio(steal, limit)}" if least > limit else ""


def _ratio(value: float, limit: float) -> str:
    """Return `0.12 > 0.05`, with as many digits as are needed to tell the numbers apart."""
    for digits in range(2, 6):
        text = f"{value:.{digits}g}"
        if float(text) > limit:
            break
    return f"{text} > {limit:g}"


def budget(gate: NoiseGate, planned: int) -> int:
    """Return how many reruns the gate allows in a run of so many planned trials."""
    return floor(gate.budget_ratio * planned)


def account(
    records: Sequence[TrialRecord],
    readings: Sequence[Reading],
    gate: NoiseGate,
    planned: int,
) -> dict[str, Any]:
    """Return a summary of what the gate did, for `noise` of run.json."""
    return {
        "limits": asdict(gate),
        "trials_outside": sum(is_outside(record) for record in records),
        "reruns": sum(bool(record.rerun_of) for record in records),
        "reruns_allowed": budget(gate, planned),
        "trials_that_stay_outside": sum(is_outside(record) for record in without_replaced(records)),
        "sentinel_readings": len(readings),
        "sentinel_departed": sum(reading.departed for reading in readings),
    }


def account_text(account: Mapping[str, Any]) -> str:
    """Return the summary of the gate (`account`) in a sentence."""
    stay = account["trials_that_stay_outside"]
    return (
        f"noise gate: {count_text(account['trials_outside'], 'trial')} outside, "
        f"{count_text(account['reruns'], 'rerun')} of {account['reruns_allowed']} allowed, "
        f"{count_text(stay, 'trial')} {'stays' if stay == 1 else 'stay'} outside"
    )


def _marked(record: TrialRecord, reasons: Sequence[str]) -> TrialRecord:
    """Return a record with further reasons, see `marked`; without any, it stays as it is."""
    if not reasons or record.status == "failed":
        return record
    return replace(record, status="untrusted", reasons=(*record.reasons, *reasons))
