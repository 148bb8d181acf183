"""The confidence level of a run's intervals, and whether they were looked at repeatedly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.results.store import RunStore

DEFAULT_CONFIDENCE = 0.95
"""The workflow schema's default of `design.confidence`."""


def confidence_of(store: RunStore) -> float:
    """Confidence that the run's workflow asked for, e.g. 0.95.

    From run.json, or from workflow.json (where it may be left to its default) for a run folder
    whose manifest does not carry the design.
    """
    return float(_design(store).get("confidence", DEFAULT_CONFIDENCE))


def first_look_of(store: RunStore) -> int | None:
    """Rounds after which sequential stopping looked at the run for the first time; None for a run
    whose number of rounds was fixed."""
    return first_look_in(_design(store))


def first_look_in(design: Mapping[str, Any]) -> int | None:
    """The same, of a design as it stands in run.json."""
    stop_when = design.get("stop_when")
    if not isinstance(stop_when, dict):
        return None
    rounds = int(design.get("rounds", 0))
    return first_look(rounds, int(stop_when.get("max_rounds", rounds + 1)))


def first_look(rounds: int, max_rounds: int) -> int | None:
    """The first of repeated looks; None when there is but one."""
    return rounds if max_rounds > rounds else None


def _design(store: RunStore) -> Mapping[str, Any]:
    design = store.manifest().get("design")
    if isinstance(design, dict):
        return design
    found = store.workflow()[0].get("design", {})
    return found if isinstance(found, dict) else {}
