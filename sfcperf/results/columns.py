"""Factors as columns of flat tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "factor_"
"""Before a factor's name, so that a factor called `round` or `value` stays apart from ours."""


def factor_names(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Factors of all these scenarios, in the order in which they are first met."""
    return list(dict.fromkeys(name for scenario in scenarios for name in scenario))


def cell(value: Any) -> Any:
    """A value that fits one cell: lists and objects become JSON text."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, sort_keys=True)
    return value
