"""gate.jsonl: what the sentinel read, and which trials its readings mark (schemas/gate.schema.json).

The file is appended to, and a line is on disk before the run goes on. Lines of two kinds:

- `reading`: one measurement of the sentinel chain, compared with the good ones before it;
- `mark`: trials that are not to be trusted because of a reading.

A trial's line in trials.jsonl never changes: readers get the record with its marks applied
(RunStore.trials).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from sfcperf.results.documents import damaged
from sfcperf.results.records import SCHEMA_VERSION, TrialRecord

GATE_REASON = "noise gate: "
"""With this begins each reason of a trial that the gate, and nothing else, distrusts."""


@dataclass(frozen=True)
class Reading:
    """One measurement of the sentinel chain."""

    reading_id: str
    """`c001` before the first trial; `r001-b02` after the second block of round 1; `r001.1-b01`
    after the first reruns of round 1."""
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
    """Farther from the reference than allowed."""
    block: tuple[str, ...]
    """Trials between the last good reading and this one."""
    problem: str = ""
    noise: Mapping[str, Any] = field(default_factory=dict)
    """As TrialRecord.noise."""

    @property
    def good(self) -> bool:
        """Whether later readings are compared with this one."""
        return self.value is not None and not self.departed


@dataclass(frozen=True)
class Mark:
    """Trials that a reading makes untrusted."""

    reading_id: str
    at: str
    """When, UTC."""
    trials: tuple[str, ...]
    reason: str


GateLine = Reading | Mark
Line = TypeVar("Line", Reading, Mark)


def gate_document(line: GateLine) -> str:
    """A line of gate.jsonl, without its end."""
    kind = "reading" if isinstance(line, Reading) else "mark"
    row = {"schema_version": SCHEMA_VERSION, "kind": kind, **asdict(line)}
    return json.dumps(row, allow_nan=False)


def gate_line(row: Mapping[str, Any], where: str) -> GateLine:
    """A reading or a mark from its line. Raises InputError when it is neither."""
    kind = row.get("kind")
    if kind == "reading":
        return _line(Reading, row, where)
    if kind == "mark":
        return _line(Mark, row, where)
    raise damaged(f"kind is {kind!r}", where)


def marked(records: Sequence[TrialRecord], lines: Iterable[GateLine]) -> list[TrialRecord]:
    """The records as marks leave them: valid ones become untrusted, others get a reason more."""
    reasons: dict[str, list[str]] = {}
    for line in lines:
        if isinstance(line, Mark):
            for trial_id in line.trials:
                reasons.setdefault(trial_id, []).append(line.reason)
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


def _line(kind: type[Line], row: Mapping[str, Any], where: str) -> Line:
    values: dict[str, Any] = {}
    for attribute in fields(kind):
        name = attribute.name
        if name not in row:
            raise damaged(f"{name} is missing", where)
        value, allowed = row[name], _KINDS[str(attribute.type)]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise damaged(f"{name} is {value!r}", where)
        values[name] = tuple(map(str, value)) if isinstance(value, list) else value
    return kind(**values)
