"""The document of a search for the throughput, `search.json` in the raw folder of its trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sfcperf import strict_json
from sfcperf.errors import InputError
from sfcperf.results.files import replace_file
from sfcperf.results.records import TrialRecord

FILE = "search.json"
SCHEMA_VERSION = 1
_MOST_BYTES = 16 * 2**20

UpperLimit = Literal["chain", "endpoints", "max_load", ""]


@dataclass(frozen=True)
class OfferedLoad:
    """A load that was offered in a search. RFC 9971 calls it a trial; here a trial is the whole
    search."""

    rate_pps: float
    """Intended load."""
    duration_s: float
    """Intended duration."""
    sent: int
    received: int
    loss_ratio: float
    """Share of packets that were lost in the chain; those in `withheld` count as lost."""
    purpose: Literal["search", "latency"]
    limited: str = ""
    """Why the endpoints, not the chain, were the limit; empty if they were not."""
    latency_us: Mapping[str, float] | None = None
    """Percentiles `p50`, `p99` and `p999` of the one-way latency; None: not measured."""
    withheld: int = 0
    """Packets that the chain kept the sender from sending, because its work takes the sender's
    time; 0 if the sender reached the load all the same."""


@dataclass(frozen=True)
class GoalResult:
    """What a search found for one goal (RFC 9971: Search Goal and Goal Result)."""

    name: str
    """Name of the goal: `ndr` or `pdr`."""
    loss_ratio: float
    """Goal loss ratio."""
    exceed_ratio: float
    relative_width: float
    trial_duration_s: float
    duration_sum_s: float
    lower_pps: float | None
    """Relevant lower bound; if no load is an upper bound, the highest lower bound. None if no load
    is a lower bound."""
    upper_pps: float | None
    """Relevant upper bound; None if nothing that was offered was too much for the chain."""
    throughput_pps: float | None
    """Conditional throughput at the lower bound; None without one."""
    upper_limit: UpperLimit
    """What keeps the load from being higher; empty if the search ended before that was known."""
    irregular: str
    """Why this is an irregular goal result, as a clause; empty for a regular one."""


@dataclass(frozen=True)
class Search:
    """A whole search: what it offered, and what it found."""

    load: Mapping[str, Any]
    """What offered the loads: `probe`, and its parameters."""
    min_load_pps: float
    max_load_pps: float
    goals: tuple[GoalResult, ...]
    offered: tuple[OfferedLoad, ...]
    """All loads that were offered, in order of time."""


def write_search(search: Search, raw_dir: Path) -> None:
    """Write search.json."""
    document = {"schema_version": SCHEMA_VERSION, **asdict(search)}
    replace_file(raw_dir / FILE, json.dumps(document, indent=1) + "\n")


def search_of(record: TrialRecord, folder: Path) -> Search | None:
    """Return the search of a trial in a run folder; None if the trial has none. Raises InputError
    when the file is damaged."""
    # The record describes the trial's last attempt.
    path = folder / record.raw / f"attempt-{record.attempts}" / FILE
    # A run folder may be a stranger's: `raw` must not lead out of it.
    if not record.raw or not path.resolve().is_relative_to(folder.resolve()):
        return None
    if not path.is_file():
        return None
    if path.stat().st_size > _MOST_BYTES:
        raise InputError("this search is larger than any that SFCPerf writes", where=str(path))
    return _search(_document(path))


def _document(path: Path) -> dict[str, Any]:
    """Read a search.json, and check it against its schema. Raises InputError."""
    from sfcperf.results.schema_check import misfit

    try:
        document: dict[str, Any] = strict_json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"not the JSON of a search: {error}", where=str(path)) from error
    if wrong := misfit("search", document):
        where, message = wrong
        raise InputError(f"not a search: {message}", where=f"{path}#{where}")
    return document


def _search(document: Mapping[str, Any]) -> Search:
    """Make a search from a document that fits the schema."""
    return Search(
        document["load"],
        document["min_load_pps"],
        document["max_load_pps"],
        tuple(GoalResult(**goal) for goal in document["goals"]),
        tuple(OfferedLoad(**offered) for offered in document["offered"]),
    )
