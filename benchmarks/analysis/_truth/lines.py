"""How often the interval of a slope contains the true one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from _runner import Budget, Row

from _truth.claims import LEAST_COVERAGE, MOST_COVERAGE
from sfcperf.analysis.statistics import fit_line
from sfcperf.analysis.statistics.regression import LEAST_ROUNDS

SLOPE, INTERCEPT = 40.0, 20.0
CONFIDENCE = 0.95


@dataclass(frozen=True)
class LineRow:
    """Trials of a chain whose length grows."""

    levels: int
    rounds: int
    power: float = 0.0
    """Of the mean, with which the standard deviation grows; 0: it is constant."""
    shared: float = 0.0
    """Standard deviation of what disturbs all trials of a round alike, over that of a trial."""
    doubling: bool = False
    """Lengths 1, 2, 4, ... instead of 0, 1, 2, ..."""
    skewed: bool = False
    promised: bool = True
    seed: int = 1
    """Rows with another seed are held back."""


ROWS = (
    *(
        LineRow(levels, rounds, power, shared)
        for power in (0, 1, 1.5)
        for shared in (0.0, 1.0)
        for levels, rounds in ((3, 3), (5, 3), (3, 5), (6, 5), (3, 10))
    ),
    *(LineRow(levels, rounds, power) for power in (0, 1) for levels, rounds in ((5, 1), (6, 2))),
    *(LineRow(5, rounds, power, doubling=True) for power in (0, 1) for rounds in (1, 2, 3, 6)),
    LineRow(4, 4, 1, 0.5, seed=61),
    LineRow(4, 6, 0.5, seed=62),
    LineRow(5, 6, 0, 2.0, seed=63),
    LineRow(3, 2, 1.5),
    LineRow(6, 2, 0, 1.0),
    LineRow(6, 5, 1, skewed=True, promised=False),
)


def name_of(row: LineRow) -> str:
    """What is simulated."""
    grows = {0: "constant sd", 1: "sd grows with the mean"}
    sd = grows.get(row.power, f"sd grows with mean^{row.power:g}")
    rounds = f"{row.rounds} round" + ("s" if row.rounds > 1 else "")
    parts = [f"{row.levels} levels, {rounds}", sd]
    parts += ["lengths 1, 2, 4, ..."] if row.doubling else []
    parts += ["exponential"] if row.skewed else []
    parts += [f"rounds disturbed, {row.shared:g} sd"] if row.shared else []
    return f"slope: {', '.join(parts)}"


def judge(row: LineRow, repeats: int) -> list[Row]:
    """Coverage of the slope."""
    random = np.random.default_rng(row.seed)
    lengths = np.arange(row.levels, dtype=float)
    x = np.tile(2**lengths if row.doubling else lengths, row.rounds)
    rounds = np.repeat(np.arange(row.rounds), row.levels)
    truth = INTERCEPT + SLOPE * x
    sd = 10 * (truth / INTERCEPT) ** row.power
    covered = shown = 0
    for _ in range(repeats):
        noise = _noise(random, x.size, row.skewed)
        disturbed = row.shared * random.standard_normal(row.rounds)[rounds]
        y = truth + sd * noise + sd.mean() * disturbed
        line = fit_line(x.tolist(), y.tolist(), CONFIDENCE, rounds.tolist())
        assert line is not None
        if line.slope_interval is not None:
            shown += 1
            covered += line.slope_interval.low <= SLOPE <= line.slope_interval.high
    share = covered / shown
    error = sqrt(share * (1 - share) / shown)
    # With fewer than three rounds, no most is promised: HC3 errs on the safe side.
    most = MOST_COVERAGE if row.rounds >= LEAST_ROUNDS else 1
    return [
        Row(
            f"{name_of(row)}: covers", share, "%",
            budget=Budget(LEAST_COVERAGE - 2 * error, most + 2 * error),
            remarks=f"+- {100 * error:.1f}", tolerated="" if row.promised else "limit",
        )
    ]  # fmt: skip


def _noise(random: np.random.Generator, n: int, skewed: bool) -> np.ndarray:
    """Of mean 0 and variance 1."""
    return random.exponential(size=n) - 1 if skewed else random.standard_normal(n)
