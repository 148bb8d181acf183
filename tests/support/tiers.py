"""Which tests are part of the gate (`make test`), and which only of `make test-all`.

A test that is not part of the gate is marked `exhaustive`. Of a parametrized one that is marked
`gate_runs`, the gate runs some of the cells, and the rest is marked `exhaustive` here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest
from hypothesis import HealthCheck, settings

GATE_SHARE = 5
"""The gate tries a fifth of the examples of a property."""
_SLOW = (HealthCheck.too_slow,)
"""It fails on a busy machine, since it looks at the clock."""


def register_profiles() -> None:
    """Hypothesis profiles `gate` (the default; the same examples each time) and `exhaustive`
    (`--hypothesis-profile`)."""
    gate = 100 // GATE_SHARE
    settings.register_profile(
        "gate", max_examples=gate, deadline=None, derandomize=True, suppress_health_check=_SLOW
    )
    settings.register_profile(
        "exhaustive", max_examples=100, deadline=None, suppress_health_check=_SLOW
    )
    settings.load_profile("gate")


def is_gate() -> bool:
    """Whether the tests run with the profile of the gate."""
    return settings.get_current_profile_name() == "gate"


def examples(count: int, *suppressed: HealthCheck, gate: int | None = None) -> settings:
    """So many examples in the exhaustive tier; in the gate a share of them, or `gate`."""
    if is_gate():
        count = gate or max(count // GATE_SHARE, 1)
    return settings(max_examples=count, suppress_health_check=(*_SLOW, *suppressed))


def mark_exhaustive(items: Iterable[pytest.Item]) -> None:
    """Mark what `gate_runs` leaves out: `gate_runs("pairwise")` keeps each pair of values of two
    parameters, `gate_runs("each value")` each value, `gate_runs(3)` the first three cells,
    `gate_runs("every 10th")` those that many apart, beginning with the first."""
    functions = defaultdict(list)
    for item in items:
        if item.get_closest_marker("gate_runs") and not item.get_closest_marker("exhaustive"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for cells in functions.values():
        (wanted,) = cells[0].get_closest_marker("gate_runs").args  # type: ignore[union-attr]
        for item in set(cells) - set(_kept(cells, wanted)):
            item.add_marker(pytest.mark.exhaustive)


def _kept(cells: Sequence[pytest.Item], wanted: str | int) -> Sequence[pytest.Item]:
    if isinstance(wanted, int):
        return cells[:wanted]
    if wanted.startswith("every "):
        return cells[:: int(wanted.removeprefix("every ").removesuffix("th"))]
    size = {"pairwise": 2, "each value": 1}[wanted]
    parts = []
    for cell in cells:
        values = [(name, repr(value)) for name, value in cell.callspec.params.items()]  # type: ignore[attr-defined]
        parts.append(set(combinations(sorted(values), min(size, len(values)))))
    return [cells[index] for index in covering(parts)]


def covering(sets: Sequence[set[object]]) -> list[int]:
    """Indices of sets that have all elements of all sets among them: greedily, the first of those
    that add most."""
    missing = set[object]().union(*sets)
    chosen = []
    while missing:
        best = max(range(len(sets)), key=lambda index: len(missing & sets[index]))
        missing -= sets[best]
        chosen.append(best)
    return chosen
