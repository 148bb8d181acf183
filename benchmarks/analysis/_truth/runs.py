"""Rows of benchmarks/analysis/truth.py in which runs differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from support.records.comparisons import case, kept_floor, runs_case

from _truth.claims import ANY_SHIFT, BETTER_OR_WORSE, EQUIVALENT, Random, normal
from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison.case import Case

MARGIN = Options()


@dataclass(frozen=True)
class RunRow:
    """The same of several runs per side, or of one run per side beside the A/A runs of a noise
    floor. Has what `_verdicts` needs of a Row."""

    name: str
    runs: tuple[int, int]
    rounds: int
    claim: frozenset[str] = BETTER_OR_WORSE
    ratio: float = 1.0
    between: tuple[float, float] = (0.02, 0.02)
    """Relative dispersion of the runs of either side."""
    within: float = 0.02
    floor: int = 0
    """A/A runs that are known beforehand."""
    modes: bool = False
    """Runs land in one of two places, of which one is a tenth slower."""
    slow: float = 1.0
    """Every tenth trial of the candidate is so many times slower."""
    paired: bool = False
    """Both sides are variants of the same runs."""
    options: Options = field(default_factory=lambda: ANY_SHIFT)
    power: bool = False
    seed: int = 1
    limit: bool = False

    def case(self, random: Random) -> Case:
        """Of this truth."""
        states = [
            _states(random, n, sd, self.modes)
            for n, sd in zip(self.runs, self.between, strict=True)
        ]
        if self.paired:
            states[1] = states[0] * _states(random, self.runs[1], self.between[1], modes=False)
        a = _runs(random, states[0], self)
        b = _runs(random, states[1] * self.ratio, self)
        for values in b if self.slow != 1 else ():
            values[random.permutation(self.rounds)[: max(1, self.rounds // 10)]] *= self.slow
        if not self.floor:
            return runs_case(a, b, paired=self.paired)
        known = _runs(random, _states(random, self.floor, self.between[0], self.modes), self)
        return replace(case(a[0], b[0]), floor=kept_floor(known))


def _states(random: Random, n: int, sd: float, modes: bool) -> np.ndarray:
    slow = np.where(random.random(n) < 0.5, 1.1, 1.0) if modes else 1.0
    return slow * (1 + sd * random.standard_normal(n))


def _runs(random: Random, states: np.ndarray, row: RunRow) -> list[np.ndarray]:
    return [normal(random, row.rounds, row.within, 100.0 * state) for state in states]


def run_rows() -> Iterator[RunRow]:
    """Rows in which runs differ."""
    null = "no difference, runs sd 2 %, trials 2 %"
    for k, rounds in ((3, 5), (5, 5), (8, 5), (3, 20), (5, 20), (8, 20)):
        runs = f"{k} runs of {rounds}"
        yield RunRow(f"runs: {null}, {runs}", (k, k), rounds)
        yield RunRow(
            f"runs: shift by the margin, {runs}",
            (k, k), rounds, EQUIVALENT, 1.05, options=MARGIN,
        )  # fmt: skip
        yield RunRow(f"runs: shift of 10 %, {runs}", (k, k), rounds, ratio=1.1, power=True)
    for a, b, sd_a, sd_b, seed in (
        (2, 2, 0.02, 0.02, 1), (2, 5, 0.02, 0.02, 1), (3, 8, 0.02, 0.02, 1), (5, 5, 0.01, 0.04, 1),
        (3, 8, 0.04, 0.01, 1), (8, 3, 0.04, 0.01, 1), (1, 5, 0.02, 0.02, 1),
        (4, 4, 0.03, 0.03, 97), (2, 6, 0.03, 0.01, 97), (4, 9, 0.05, 0.02, 97),
        (1, 7, 0.03, 0.03, 97),
    ):  # fmt: skip
        name = f"{a} and {b} runs of 10, runs sd {100 * sd_a:g} and {100 * sd_b:g} %"
        between = (sd_a, sd_b)
        yield RunRow(f"runs: no difference, {name}", (a, b), 10, between=between, seed=seed)
        yield RunRow(
            f"runs: shift by the margin, {name}",
            (a, b), 10, EQUIVALENT, 1.05, between, options=MARGIN, seed=seed,
        )  # fmt: skip
    for k, within, seed in ((3, 0.02, 1), (6, 0.1, 98)):
        yield RunRow(
            f"runs: no difference, places that differ by 10 %, {k} runs of 10",
            (k, k), 10, between=(0.005, 0.005), within=within, modes=True, seed=seed,
        )  # fmt: skip
    for k, seed in ((3, 1), (6, 98)):
        name = f"variants of {k} runs of 10, runs sd 2 %, and 1 % between variants"
        yield RunRow(
            f"runs: no difference, {name}",
            (k, k), 10, between=(0.02, 0.01), paired=True, seed=seed,
        )  # fmt: skip
    for k, rounds, seed in ((3, 10, 1), (6, 20, 98)):
        yield RunRow(
            f"runs: every tenth trial x1.5, {k} runs of {rounds}, runs sd 0.5 %",
            (k, k), rounds, EQUIVALENT, between=(0.005, 0.005), slow=1.5, options=MARGIN, seed=seed,
        )  # fmt: skip
    yield RunRow(
        "runs: shift of 0 % within 5 %, runs sd 1 %, 8 runs of 5",
        (8, 8), 5, EQUIVALENT, between=(0.01, 0.01), options=MARGIN, power=True,
    )  # fmt: skip
    yield from _floor_rows()


def _floor_rows() -> Iterator[RunRow]:
    for known, rounds, sd, seed in (
        (3, 10, 0.02, 1), (5, 10, 0.02, 1), (10, 20, 0.02, 1), (10, 5, 0.02, 1),
        (4, 12, 0.05, 99), (8, 30, 0.01, 99),
    ):  # fmt: skip
        name = f"runs sd {100 * sd:g} %, 1 and 1 run of {rounds}, {known} A/A runs"
        between = (sd, sd)
        yield RunRow(
            f"floor: no difference, {name}", (1, 1), rounds, between=between, floor=known, seed=seed
        )
        yield RunRow(
            f"floor: shift by the margin, {name}{' (of 30 rounds)' if rounds < 30 else ''}",
            (1, 1), max(rounds, 30), EQUIVALENT, 1.05, between, floor=known, options=MARGIN,
            seed=seed,
        )  # fmt: skip
    yield RunRow(
        "floor: shift of 10 %, runs sd 2 %, 1 and 1 run of 10, 10 A/A runs",
        (1, 1), 10, ratio=1.1, floor=10, power=True,
    )  # fmt: skip
    for rounds in (10, 20, 40):
        yield RunRow(
            f"no floor: no difference, runs sd 2 %, 1 and 1 run of {rounds} (what floors are for)",
            (1, 1), rounds, power=True,
        )  # fmt: skip
