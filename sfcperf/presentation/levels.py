"""Factor levels as places on an axis, as dictionary keys and as words; rows by probe and metric."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from sfcperf.results.tables import factor_names
from sfcperf.workflow.references import level_text as level_text

Levels = Mapping[str, Any]
"""A scenario: factor -> level."""


class _HasMetric(Protocol):
    """A row about one metric of one probe."""

    @property
    def label(self) -> str: ...

    @property
    def metric(self) -> str: ...


Row = TypeVar("Row", bound=_HasMetric)


def axis_levels(factor: str, scenarios: Sequence[Levels]) -> tuple[Any, ...]:
    """List the levels of a factor, each once: in ascending order if all are numbers, otherwise in
    the order of the workflow. The level of a scenario without the factor is None."""
    levels = {level_key(levels.get(factor)): levels.get(factor) for levels in scenarios}
    values = list(levels.values())
    return tuple(sorted(values)) if all(is_number(v) for v in values) else tuple(values)


def varying(scenarios: Sequence[Levels]) -> list[str]:
    """List the factors with more than one level, in the order of the workflow."""
    return [factor for factor in factor_names(scenarios) if len(axis_levels(factor, scenarios)) > 1]


def scenario_text(scenario: Levels) -> str:
    """Return a scenario in one line: `topology T1, chain_length 2`; empty without factors."""
    return ", ".join(f"{name} {level_text(value)}" for name, value in scenario.items())


def scenario_name(scenario: Levels) -> str:
    """Return a scenario in one line for headings and sentences, which need a word also for a
    scenario without factors."""
    return scenario_text(scenario) or "the only scenario"


def is_number(level: Any) -> bool:
    """Whether a level can stand on a numeric axis (truth values are categories)."""
    return isinstance(level, int | float) and not isinstance(level, bool)


def level_key(level: Any) -> str:
    """Return a level, or a scenario, as a dictionary key. 1, 1.0, True and "1" have different
    keys, while Python takes the first three for one."""
    return json.dumps(level, sort_keys=True)


def by_metric(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Group rows by (label of the probe, metric), in the order in which these first occur."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.label, row.metric), []).append(row)
    return groups
