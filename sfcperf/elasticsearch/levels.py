"""A scenario's fields: the levels of its factors, as keywords and as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.presentation.levels import is_number, level_text
from sfcperf.results.store import RunStore


class Scenarios:
    """The scenarios of a run, as all of its documents name them."""

    def __init__(self, store: RunStore, manifest: Mapping[str, Any]) -> None:
        self._levels = {entry["id"]: entry["levels"] for entry in manifest["scenarios"]}
        self._lengths = _lengths(store)
        self._known: dict[str, dict[str, Any]] = {}

    def fields(self, scenario_id: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """`scenario`, `factor`, `level` and, where it is known, `chain.length`; `levels` as the
        document to send has them."""
        if scenario_id not in self._known:
            self._known[scenario_id] = self._fields(scenario_id, levels)
        return self._known[scenario_id]

    def _fields(self, scenario_id: str, levels: Mapping[str, Any]) -> dict[str, Any]:
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
    """`chain_length=2 topology=T1`; without factors there is one scenario, `all`."""
    return " ".join(f"{name}={level_text(level)}" for name, level in levels.items()) or "all"


def field_name(factor: str) -> str:
    """A factor as part of a field's name: a dot would make an object of it."""
    return factor.replace(".", "_")


def _lengths(store: RunStore) -> dict[str, int]:
    """Scenario -> number of its SFs, as it was resolved."""
    return {
        name: len(scenario["chain"]["functions"]) for name, scenario in store.resolved().items()
    }
