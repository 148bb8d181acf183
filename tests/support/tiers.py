"""Which tests are part of the gate (`make test`), and which only of `make test-all`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

EXHAUSTIVE = pytest.mark.exhaustive
GATE_SHARE = 5
"""The gate tries a fifth of the examples of a property."""


def register_profiles() -> None:
    """Hypothesis profiles `gate` (the default; the same examples each time) and `exhaustive`
    (`--hypothesis-profile`)."""
    gate = 100 // GATE_SHARE
    settings.register_profile("gate", max_examples=gate, deadline=None, derandomize=True)
    settings.register_profile("exhaustive", max_examples=100, deadline=None)
    settings.load_profile("gate")


def is_gate() -> bool:
    """Whether the tests run with the profile of the gate."""
    return settings.get_current_profile_name() == "gate"


def examples(count: int, *suppressed: HealthCheck, gate: int | None = None) -> settings:
    """So many examples in the exhaustive tier; in the gate a share of them, or `gate`."""
    if is_gate():
        count = gate or max(count // GATE_SHARE, 1)
    return settings(max_examples=count, suppress_health_check=suppressed)


def pairwise(**axes: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrize with every combination of the axes' values (or `pytest.param(value, id=...)`).

    The gate runs a few of them, in which each value meets each value of every other axis.
    """
    return _matrix(axes, strength=2)


def each_value(**axes: Sequence[Any]) -> pytest.MarkDecorator:
    """As `pairwise`, with even fewer combinations in the gate: it runs each value once."""
    return _matrix(axes, strength=1)


def first(count: int, values: Sequence[Any]) -> list[Any]:
    """Values for `pytest.mark.parametrize`, of which the gate runs the first `count`."""
    rest = [pytest.param(*_as_param(value).values, marks=EXHAUSTIVE) for value in values[count:]]
    return [*values[:count], *rest]


def _matrix(axes: Mapping[str, Sequence[Any]], strength: int) -> pytest.MarkDecorator:
    values = [[_as_param(value) for value in axis] for axis in axes.values()]
    chosen = set(covering_cells([len(axis) for axis in values], strength))
    cells = []
    for cell in product(*(range(len(axis)) for axis in values)):
        members = [axis[index] for axis, index in zip(values, cell, strict=True)]
        marks = [mark for member in members for mark in member.marks]
        if cell not in chosen:
            marks.append(EXHAUSTIVE)
        name = "-".join(member.id for member in members)
        cells.append(pytest.param(*(m.values[0] for m in members), marks=marks, id=name))
    return pytest.mark.parametrize(list(axes), cells)


def covering_cells(sizes: Sequence[int], strength: int) -> Iterator[tuple[int, ...]]:
    """Cells of a matrix in which each combination of values of `strength` axes occurs. Greedy, and
    the same each time."""
    cells = list(product(*map(range, sizes)))
    missing = {part for cell in cells for part in combinations(enumerate(cell), strength)}
    while missing:
        best = max(
            cells, key=lambda cell: len(missing & {*combinations(enumerate(cell), strength)})
        )
        missing -= {*combinations(enumerate(best), strength)}
        yield best


def _as_param(value: Any) -> Any:
    if hasattr(value, "marks"):
        return value
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, id=str(value))
