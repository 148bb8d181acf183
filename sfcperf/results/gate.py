"""gate.jsonl: what the sentinel read, and which trials its readings make untrusted
(schemas/gate.schema.json).

The file is appended to, and a line is on disk before the run goes on. A trial's line in
trials.jsonl never changes: readers get the record with the marks of the readings applied
(RunStore.trials).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from sfcperf.results.documents import check_version, damaged
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord

GATE_REASON = "noise gate: "
"""With this begins each reason for which the gate distrusts a trial."""


@dataclass(frozen=True)
class Reading:
    """One measurement of the sentinel chain."""

    reading_id: str
    """`c001` before the first trial; `r002-b001` closes the first block of round 2, `r002-b001.1`
    is the first look after it whether the machine is quiet again."""
    round: int
    """0 for calibration."""
    started_at: str
    ended_at: str
    probe: str
    metric: str
    unit: str
    value: float | None
    """None when it could not be measured: `problem` says why."""
    reference: float | None
    """Median of the good readings before it; None before the first one."""
    change_ratio: float | None
    """From the reference; negative when less."""
    allowed_ratio: float | None
    """The change that the readings before it allow; None while they are too few to judge by."""
    departed: bool
    """Farther from the reference than allowed, or not to be measured at all."""
    block: tuple[str, ...]
    """Trials since the reading before it."""
    marks: str = ""
    """Why the trials of the block are not to be trusted; empty when they are."""
    problem: str = ""
    noise: Mapping[str, Any] = field(default_factory=dict)
    """As TrialRecord.noise."""

    @property
    def good(self) -> bool:
        """Whether later readings are compared with this one."""
        return self.value is not None and not self.departed


def gate_document(reading: Reading) -> str:
    """A line of gate.jsonl, without its end."""
    return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(reading)}, allow_nan=False)


def gate_line(row: Mapping[str, Any], where: str) -> Reading:
    """A reading from its line. Raises InputError when it is none."""
    check_version(row, where)
    values: dict[str, Any] = {}
    for attribute in fields(Reading):
        name = attribute.name
        if name not in row:
            raise damaged(f"{name} is missing", where)
        value, allowed = row[name], _KINDS[str(attribute.type)]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise damaged(f"{name} is {value!r}", where)
        values[name] = tuple(map(str, value)) if isinstance(value, list) else value
    return Reading(**values)


def marked(records: Sequence[TrialRecord], readings: Iterable[Reading]) -> list[TrialRecord]:
    """The records as the readings leave them: valid ones become untrusted, others get a reason
    more."""
    reasons: dict[str, list[str]] = {}
    for reading in readings:
        for trial_id in reading.block if reading.marks else ():
            reasons.setdefault(trial_id, []).append(f"{GATE_REASON}{reading.marks}")
    return [_marked(record, reasons.get(record.trial_id, ())) for record in records]


def is_outside(record: TrialRecord) -> bool:
    """Whether the gate distrusts a trial that was measured."""
    return record.status == "untrusted" and any(
        reason.startswith(GATE_REASON) for reason in record.reasons
    )


def standing(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The records without those in whose place a rerun stands."""
    replaced = {record.rerun_of for record in records}
    return [record for record in records if record.trial_id not in replaced]


def _marked(record: TrialRecord, reasons: Sequence[str]) -> TrialRecord:
    if not reasons or record.status == "failed":
        return record
    return replace(record, status="untrusted", reasons=(*record.reasons, *reasons))


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float | None": (int, float, type(None)),
    "tuple[str, ...]": (list,),
    "Mapping[str, Any]": (dict,),
}
