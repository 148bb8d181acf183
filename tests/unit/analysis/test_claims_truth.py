"""Simulated truth: verdicts on data whose truth is known err in at most alpha of all draws.

The truth is an end of the range, where the verdict errs most often: both `agrees` and
`contradicts` are wrong there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import binom

from sfcperf.analysis.claims.rounds import Points, RoundValues
from sfcperf.analysis.claims.verdicts import judge
from sfcperf.workflow.model import Claim, Operand

ALPHA = 0.05
X = (1.0, 2.0, 4.0, 8.0)
GROWTH = 5.0
DRAWS = [pytest.param(100, id="100"), pytest.param(2000, id="2000", marks=pytest.mark.exhaustive)]

SHAPES: dict[str, tuple[Callable[[Any, int], Any], float]] = {
    "normal": (lambda rng, n: rng.normal(100, 10, n), 100.0),
    "skewed": (lambda rng, n: 90 * rng.lognormal(0, 0.5, n), 90 * float(np.exp(0.125))),
    "bimodal": (lambda rng, n: np.where(rng.random(n) < 0.3, 160, 80) + rng.normal(0, 4, n), 104.0),
}
"""Values of trials, and their mean."""


def operand(name: str, slope: str | None = None) -> Operand:
    return Operand("probe", name, slope=slope)


class Drawn:
    """Values of rounds as they were drawn, in place of those of a run."""

    def __init__(self, rows: dict[str, Sequence[float]]) -> None:
        self.rows = rows

    def of(self, operand: Operand) -> dict[int, float]:
        if operand.slope is None:
            return dict(enumerate(map(float, self.rows[operand.metric])))
        line = np.polynomial.polynomial.polyfit
        points = zip(*(self.rows[f"{operand.metric}{x:g}"] for x in X), strict=True)
        return {n: float(line(X, y, 1)[1]) for n, y in enumerate(points)}

    def points(self, operand: Operand) -> Points:
        columns = [self.rows[f"{operand.metric}{x:g}"] for x in X]
        return Points(X, dict(enumerate(zip(*columns, strict=True))))


def claim(**more: Any) -> Claim:
    return Claim(id="c", text="A claim.", source="own", **more)


def bend(r_squared: float) -> Any:
    """What is added to GROWTH * x at each x, so that a line explains this share."""
    x = np.array(X) - np.mean(X)
    curve = x**2 - np.polyval(np.polyfit(x, x**2, 1), x)
    line = GROWTH**2 * (x @ x)
    return curve * np.sqrt(line * (1 / r_squared - 1) / (curve @ curve))


RATIO = 1.3
BEND = bend(r_squared=0.95)
KINDS: dict[str, Claim] = {
    "value": claim(of=operand("a"), above=100.0),
    "ratio": claim(of=operand("a"), to=operand("b"), above=RATIO),
    "equivalence": claim(of=operand("a"), to=operand("b"), above=RATIO / 1.2, below=RATIO),
    "slope": claim(of=operand("y", "x"), below=GROWTH),
    "slope ratio": claim(of=operand("y", "x"), to=operand("z", "x"), above=1.0),
    "fit": claim(of=operand("y", "x"), r_squared=True, above=0.95),
    "order": claim(order=(operand("low"), operand("same"), operand("equal"), operand("high"))),
}


def rows(kind: str, shape: str, rng: Any, rounds: int, factor: float) -> dict[str, Sequence[float]]:
    """Values of rounds, all disturbed alike within a round. `factor`: by how much the quantity is
    larger than the end of the range."""
    draw, mean = SHAPES[shape]
    common = 1 + rng.normal(0, 0.1, rounds)

    def values(wanted: float = 100.0) -> Any:
        return draw(rng, rounds) * (wanted / mean) * common

    if kind == "value":
        return {"a": draw(rng, rounds) / mean * 100 * factor}
    if kind in ("ratio", "equivalence"):
        return {"a": values(100 * RATIO * factor), "b": values()}
    if kind == "order":
        return {
            "low": values(20),
            "same": values(),
            "equal": values(100 * factor),
            "high": values(900),
        }
    if kind == "fit":
        return {
            f"y{x:g}": 100 + GROWTH * x + bend * factor + (draw(rng, rounds) - mean) / 4
            for x, bend in zip(X, BEND, strict=True)
        }
    growth = {"y": GROWTH * factor, "z": GROWTH}
    return {
        f"{name}{x:g}": 100 + growth[name] * x + (draw(rng, rounds) - mean) / 4
        for name in "yz"
        for x in X
    }


def verdicts(kind: str, shape: str, draws: int, factor: float = 1.0) -> Iterator[str]:
    rng = np.random.default_rng([draws, *kind.encode(), *shape.encode()])
    for _ in range(draws):
        values = Drawn(rows(kind, shape, rng, 12, factor))
        yield judge([KINDS[kind]], cast(RoundValues, values), ALPHA)[0].verdict


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_err_seldom(kind: str, shape: str, draws: int) -> None:
    wrong = sum(verdict != "undecided" for verdict in verdicts(kind, shape, draws))
    # As many wrong ones are possible by chance when each draw errs with a probability of alpha.
    assert wrong <= binom.ppf(0.999, draws, ALPHA)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kind", "factor", "expected"),
    [
        ("value", 2.0, "agrees"),
        ("value", 0.5, "contradicts"),
        ("ratio", 2.0, "agrees"),
        ("ratio", 0.5, "contradicts"),
        ("equivalence", 3.0, "contradicts"),
        ("slope", 0.2, "agrees"),
        ("slope", 4.0, "contradicts"),
        ("slope ratio", 4.0, "agrees"),
        ("fit", 5.0, "contradicts"),
        ("order", 3.0, "agrees"),
        ("order", 0.33, "contradicts"),
    ],
)
def test_clear_cases_are_decided(kind: str, shape: str, factor: float, expected: str) -> None:
    """An engine that never decided would never err."""
    found = list(verdicts(kind, shape, 20, factor))
    assert found.count(expected) >= 10
    assert {*found} <= {expected, "undecided"}
