"""Turns table entries into those of P4Runtime, and finds out which ones a switch lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from sfcperf.vnfs.sfcmon.controller.entries import DEFAULT_ACTIONS, TABLES, Entry

if TYPE_CHECKING:
    from finsy import P4TableEntry

_RULES = "rules"


class Phase(Enum):
    """Part of a change. All switches finish a phase before one starts the next, so that no
    packet enters a path that is not there."""

    ADD = auto()
    """Write entries that packets find once a rule leads there."""
    CLASSIFY = auto()
    """Write and remove rules."""
    REMOVE = auto()
    """Remove entries that no rule leads to any more."""


@dataclass(frozen=True)
class TableUpdates:
    """Entries that a phase writes, in this order."""

    insert: list[Entry]
    modify: list[Entry]
    delete: list[Entry]


def updates(phase: Phase, actual: Iterable[Entry], wanted: Iterable[Entry]) -> TableUpdates:
    """Return what a phase has to write to a switch with the entries `actual`."""
    here = {entry.identity: entry for entry in actual}
    there = {entry.identity: entry for entry in wanted}
    new = [entry for key, entry in there.items() if key not in here]
    changed = [e for key, e in there.items() if key in here and here[key] != e]
    old = [entry for key, entry in here.items() if key not in there]
    # A default action can be changed, but neither inserted nor deleted.
    changed += [entry for entry in new if entry.table in DEFAULT_ACTIONS]
    new = [entry for entry in new if entry.table not in DEFAULT_ACTIONS]
    old = [entry for entry in old if entry.table not in DEFAULT_ACTIONS]
    rules = TableUpdates(*([e for e in part if e.table == _RULES] for part in (new, changed, old)))
    others = TableUpdates(*([e for e in part if e.table != _RULES] for part in (new, changed, old)))
    match phase:
        case Phase.ADD:
            return TableUpdates(others.insert, others.modify, [])
        case Phase.CLASSIFY:
            return rules
        case Phase.REMOVE:
            return TableUpdates([], [], others.delete)


def applied(entries: Iterable[Entry], written: TableUpdates) -> list[Entry]:
    """Return the entries after these updates."""
    kept = {entry.identity: entry for entry in entries}
    for entry in written.delete:
        kept.pop(entry.identity)
    return list((kept | {e.identity: e for e in written.insert + written.modify}).values())


def everything() -> list[P4TableEntry]:
    """Return what to read so that all entries of the controller's tables come."""
    from finsy import P4TableEntry

    return [P4TableEntry(table, is_default_action=table in DEFAULT_ACTIONS) for table in TABLES]


def to_p4(entry: Entry) -> P4TableEntry:
    """Return the entry as finsy writes it."""
    from finsy import Action, Match, P4TableEntry

    return P4TableEntry(
        entry.table,
        match=Match(entry.key) if entry.key else None,
        action=Action(entry.action, **dict(entry.parameters)),
        is_default_action=entry.table in DEFAULT_ACTIONS,
        priority=entry.priority,
    )


def of_p4(read: P4TableEntry) -> Entry | None:
    """Return an entry that finsy has read; None for a default action that was never set."""
    from finsy import Action

    assert isinstance(read.action, Action), "tables without action profiles"
    parameters = tuple(sorted((name, int(value)) for name, value in read.action.args.items()))
    if read.is_default_action and not any(value for _, value in parameters):
        return None
    match: dict[str, Any] = dict(read.match or {})
    return Entry(
        table=read.table_id,
        key=tuple(sorted(match.items())),
        action=read.action.name,
        parameters=parameters,
        priority=read.priority,
    )
