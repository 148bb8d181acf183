"""A scenario's fields: the levels of its factors, as keywords and as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.presentation.levels import is_number, level_text
from sfcperf.results.store import RunStore


class Scenarios:
    """Makes the fields that name a scenario, the same in all documents of a run."""

    def __init__(self, store: RunStore) -> None:
        self._lengths = _lengths(store)
        self._known: dict[str, dict[str, Any]] = {}

    def fields(self, scenario_id: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields `scenario`, `factor`, `level` and, if it is known, `chain.length`.
        `levels`: those of the scenario, as the trial's or summary's record has them."""
        if scenario_id not in self._known:
            self._known[scenario_id] = self._fields(scenario_id, levels)
        return self._known[scenario_id]

    def _fields(self, scenario_id: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        # The plan knows the length of each chain; a factor of this name stands in for a scenario
        # that it does not have.
        length = self._lengths.get(scenario_id, levels.get("chain_length"))
        return {
            "scenario": {"id": scenario_id, "label": label(levels)},
            "factor": {field_name(name): level_text(level) for name, level in levels.items()},
            "level": {
                field_name(name): level for name, level in levels.items() if is_number(level)
            },
            **({"chain": {"length": length}} if is_number(length) else {}),
        }


def label(levels: Mapping[str, Any]) -> str:
    """Name a scenario by its levels, such as `chain_length=2 topology=T1`. Without factors there is
    only one scenario, `all`."""
    return " ".join(f"{name}={level_text(level)}" for name, level in levels.items()) or "all"


def field_name(factor: str) -> str:
    """Return a factor's name as part of a field's name: a dot in it would make an object."""
    return factor.replace(".", "_")


def _lengths(store: RunStore) -> dict[str, int]:
    """Return scenario id -> number of SFs in its chain, as plan.json has it."""
    return {
        name: len(scenario["chain"]["functions"]) for name, scenario in store.resolved().items()
    }
