"""How often the rounds that a replay asks for decide beside a package: in 4 of 5 cases if
difference and dispersion are as measured, and they are measured with error."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p, sqrt

import numpy as np
from _runner import Budget, Row
from support.records.comparisons import case

from _truth.claims import ALPHA, BETTER_OR_WORSE, normal
from sfcperf.analysis.comparison import Options
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.statistics import least_to_see
from sfcperf.analysis.two_sample import trials_beside

REPLAYS = 150
MOST_ROUNDS = 2000
PROMISED = 0.7
"""Less than 4 of 5, by the error of the few trials that the number is computed from."""


@dataclass(frozen=True)
class ReplayRow:
    """Trials of a package and of the first rounds of its replay."""

    packaged: int
    here: int
    sd: float
    ratio: float
    seed: int = 1


ROWS = (
    ReplayRow(40, 10, 0.08, 1.0),
    ReplayRow(40, 10, 0.05, 1.01),
    ReplayRow(40, 20, 0.05, 1.15),
    ReplayRow(30, 5, 0.03, 1.1),
)


def name_of(row: ReplayRow) -> str:
    """What is simulated."""
    sides = f"{row.packaged} packaged, {row.here} here"
    return f"replay decided, {sides}, sd {100 * row.sd:g} %, ratio {row.ratio:g}"


def judge(row: ReplayRow, _: int) -> list[Row]:
    """Share of the replays that decide."""
    random = np.random.default_rng(5)
    decided = asked = 0
    while asked < REPLAYS:
        a = normal(random, row.packaged, row.sd)
        b = normal(random, row.here, row.sd) * row.ratio
        n = _rounds(a, b)
        if n is None or n > MOST_ROUNDS:
            continue
        asked += 1
        again = normal(random, n, row.sd) * row.ratio
        found = evaluate([case(a, again)], Options(), sizes=False)[0]
        beyond = found.beyond_p is not None and found.beyond_p <= ALPHA
        decided += found.verdict == "equivalent" or (beyond and found.verdict in BETTER_OR_WORSE)
    share = decided / asked
    error = sqrt(share * (1 - share) / REPLAYS)
    remarks = f"+- {100 * error:.1f}"
    return [Row(name_of(row), share, "%", budget=Budget(low=PROMISED), remarks=remarks)]


def _rounds(a: np.ndarray, b: np.ndarray) -> int | None:
    logs = [np.log(side).tolist() for side in (a, b)]
    shift = float(np.median(logs[1]) - np.median(logs[0]))
    bounds = (log1p(-0.05), log1p(0.05))
    return trials_beside(logs[0], logs[1], shift, bounds, ALPHA, least_to_see(0.1))
