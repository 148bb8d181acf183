"""Searches for the throughput, prepared for reports and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from sfcperf.active.ndr import Ndr
from sfcperf.errors import InputError
from sfcperf.presentation import units
from sfcperf.presentation.levels import Levels
from sfcperf.results.records import TrialRecord
from sfcperf.results.searches import GoalResult, OfferedLoad, Search, search_of
from sfcperf.results.store import RunStore

PERCENTILES: Mapping[str, str] = {
    "p50": "median",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
}
LOSS_LABEL = units.axis_label("Loss ratio", "%")
LATENCY_LABEL = units.axis_label("One-way latency", "µs")
_NEAR = 1.25
"""Loads are drawn up to the highest bound times this, and down to the lowest bound over this."""


def packets_unit(scale: units.Scale) -> str:
    """Return the unit of a scale of loads with the word packets: `kpackets/s` for `k/s`."""
    return scale.unit.replace("/s", "packets/s")


def load_label(scale: units.Scale) -> str:
    """Return the label of the axis of loads."""
    return units.axis_label("Load", packets_unit(scale))


@dataclass(frozen=True)
class SearchGroup:
    """The searches of one scenario and probe."""

    label: str
    """Label of the probe."""
    scenario: Levels
    found: tuple[tuple[TrialRecord, Search], ...]
    """Each search with its trial, in the order of trials."""

    @property
    def bounds(self) -> list[float]:
        """Lower and upper bounds of all goals, in packets per second, as far as they were found."""
        goals = [goal for _, search in self.found for goal in search.goals]
        return [rate for goal in goals for rate in (goal.lower_pps, goal.upper_pps) if rate]

    @property
    def highest_pps(self) -> float:
        """Highest load that the searches offered, in packets per second; 0 without one."""
        return max((o.rate_pps for _, o in self.loads("search")), default=0.0)

    def loads(self, purpose: str) -> list[tuple[TrialRecord, OfferedLoad]]:
        """List the loads that were offered for a purpose, `search` or `latency`, each with its
        trial."""
        return [
            (record, load)
            for record, search in self.found
            for load in search.offered
            if load.purpose == purpose
        ]

    def loads_near(self) -> list[tuple[TrialRecord, OfferedLoad]]:
        """List the loads of the searches that are near the bounds, each with its trial; all loads
        if no bound was found."""
        bounds = self.bounds
        offered = self.loads("search")
        if not bounds:
            return offered
        low, high = min(bounds) / _NEAR, max(bounds) * _NEAR
        return [(record, load) for record, load in offered if low <= load.rate_pps <= high]

    def goals(self) -> Iterator[tuple[str, list[GoalResult]]]:
        """Yield the name of each goal with its results in all searches, in the order of names."""
        by_name = sorted((goal for _, search in self.found for goal in search.goals), key=_name)
        for name, group in groupby(by_name, key=_name):
            yield name, list(group)


def _name(goal: GoalResult) -> str:
    """Return the name of a goal, by which results are sorted and grouped."""
    return goal.name


def typical_lower_pps(goals: Sequence[GoalResult]) -> float | None:
    """Return the median of the lower bounds of these results, in packets per second; None if none
    was found."""
    lower = [goal.lower_pps for goal in goals if goal.lower_pps is not None]
    return median(lower) if lower else None


def search_groups(
    store: RunStore, trials: Sequence[TrialRecord]
) -> tuple[list[SearchGroup], list[tuple[str, str]]]:
    """Group the searches of a run by scenario and probe. Returns the groups, and (trial id, reason)
    for each trial whose search cannot be read."""
    members_of: dict[tuple[str, str], list[tuple[TrialRecord, Search]]] = {}
    unreadable = []
    for record in trials:
        if record.probe != Ndr.name:
            continue
        try:
            search = search_of(record, store.folder)
        except InputError as error:
            unreadable.append((record.trial_id, error.message))
            continue
        if search is not None:
            members_of.setdefault((record.scenario_id, record.label), []).append((record, search))
    groups = [
        SearchGroup(label, members[0][0].scenario, tuple(members))
        for (_, label), members in sorted(members_of.items(), key=_key)
    ]
    return groups, unreadable


def _key(item: tuple[tuple[str, str], Any]) -> tuple[str, str]:
    """Return scenario id and label of a group's item, by which groups are sorted."""
    return item[0]
