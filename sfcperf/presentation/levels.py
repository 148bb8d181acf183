"""Factor levels as positions, keys and words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Levels = Mapping[str, Any]
"""Factor -> level: a scenario."""


def axis_levels(factor: str, scenarios: Sequence[Levels]) -> tuple[Any, ...]:
    """Levels of a factor, numbers in ascending order, others in the order of the workflow; the
    level of a scenario without the factor is None."""
    levels = {level_key(levels.get(factor)): levels.get(factor) for levels in scenarios}
    values = list(levels.values())
    return tuple(sorted(values)) if all(is_number(v) for v in values) else tuple(values)


def varying(scenarios: Sequence[Levels]) -> list[str]:
    """Factors with more than one level, in the order of the workflow."""
    factors = dict.fromkeys(name for levels in scenarios for name in levels)
    return [factor for factor in factors if len(axis_levels(factor, scenarios)) > 1]


def level_text(level: Any) -> str:
    """A factor level as text: strings as they are, everything else as JSON."""
    return level if isinstance(level, str) else json.dumps(level, sort_keys=True)


def scenario_text(scenario: Levels) -> str:
    """A scenario in one line, `topology T1, chain_length 2`."""
    return ", ".join(f"{name} {level_text(value)}" for name, value in scenario.items())


def scenario_key(scenario: Levels) -> str:
    """A scenario as a dictionary key (1, 1.0 and True are different levels)."""
    return json.dumps(scenario, sort_keys=True)


def is_number(level: Any) -> bool:
    """Whether a level can stand on a numeric axis (truth values are categories)."""
    return isinstance(level, int | float) and not isinstance(level, bool)


def level_key(level: Any) -> str:
    """A level as a dictionary key; 1, 1.0, True and "1" differ."""
    return json.dumps(level, sort_keys=True)
