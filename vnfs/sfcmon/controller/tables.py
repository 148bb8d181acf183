"""Table entries in the words of P4Runtime, and what to write so that a switch has those it must."""

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
    """All switches finish a phase before one begins the next, so that no packet enters a path that
    is not there."""

    ADD = auto()
    """Entries that packets find once a rule leads there."""
    CLASSIFY = auto()
    """Rules of the classifier."""
    REMOVE = auto()
    """Entries that no rule leads to any more."""


@dataclass(frozen=True)
class TableUpdates:
    """What to write to a switch, in this order."""

    insert: list[Entry]
    modify: list[Entry]
    delete: list[Entry]


def updates(phase: Phase, actual: Iterable[Entry], wanted: Iterable[Entry]) -> TableUpdates:
    """Return what a phase writes to a switch that has the entries `actual` and must have
    `wanted`."""
    present = {entry.identity: entry for entry in actual}
    required = {entry.identity: entry for entry in wanted}
    new = [entry for key, entry in required.items() if key not in present]
    changed = [e for key, e in required.items() if key in present and present[key] != e]
    old = [entry for key, entry in present.items() if key not in required]
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
    """Return the entries of a switch that had `entries`, after these updates."""
    present = {entry.identity: entry for entry in entries}
    for entry in written.delete:
        present.pop(entry.identity)
    return list((present | {e.identity: e for e in written.insert + written.modify}).values())


def everything() -> list[P4TableEntry]:
    """Return one entity for each of the controller's tables, with which finsy reads all entries of
    the table."""
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
    """Make an entry from what finsy has read; None for a default action that was never set."""
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
