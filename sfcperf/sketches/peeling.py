"""Computes how many cells an IBLT needs for its flows to be listed: by the theoretical threshold,
and by simulated listings."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

_FEWEST_TABLES = 6
"""Least number of tables to simulate. A few are enough if they are large, since large tables differ
little."""
_MOST_FLOWS = 400_000
"""Most flows in all tables that are simulated at once. They take memory, and a second of time."""


def threshold(hashes: int) -> float:
    """Return the threshold C_K for K = `hashes`, which must be 3 or more. Tables with more than C_K
    times as many cells as flows are listed with a probability that approaches 1 as they grow. It is
    the inverse of the largest load with 1 - exp(-K load x^(K-1)) < x for all x between 0 and 1
    (Goodrich and Mitzenmacher 2011, Theorem 1)."""
    # For each x, the load at which both sides of the inequality are equal; the least load counts.
    found = minimize_scalar(
        lambda x: -np.log1p(-x) / (hashes * x ** (hashes - 1)),
        bounds=(0.1, 1 - 1e-9),
        method="bounded",
    )
    return float(1 / found.fun)


@dataclass(frozen=True)
class Success:
    """How often simulated tables were listed fully."""

    tables: int
    """Number of simulated tables."""
    complete: int
    """Number of tables that were listed fully."""
    low: float
    """Lower end of the exact 95 % interval of the probability that a table is listed fully (Clopper
    and Pearson 1934)."""
    high: float
    """Upper end of that interval."""
    listed_share: float
    """Mean share of the flows that were listed."""

    @property
    def share(self) -> float:
        """Return the share of the tables that were listed fully."""
        return self.complete / self.tables


def simulated(flows: int, cells: int, hashes: int, tables: int, seed: int) -> Success:
    """Simulate the listing of tables of random flows. Hash functions are taken as ideal: the cells
    of a flow are drawn at random, and are all different."""
    rng = np.random.default_rng(seed)
    complete, listed, tables_left = 0, 0, tables
    while tables_left:
        # As many tables at once as _MOST_FLOWS allows.
        batch = min(tables_left, max(1, _MOST_FLOWS // flows))
        missing = _missing(flows, cells, hashes, batch, rng)
        complete += int((missing == 0).sum())
        listed += batch * flows - int(missing.sum())
        tables_left -= batch
    interval = binomtest(complete, tables).proportion_ci(0.95, "exact")
    return Success(
        tables, complete, float(interval.low), float(interval.high), listed / (tables * flows)
    )


def _missing(
    flows: int, cells: int, hashes: int, tables: int, rng: np.random.Generator
) -> np.ndarray:
    """Simulate tables, and return how many flows of each are not listed. All tables are peeled at
    once, as parts of one large table."""
    table = np.repeat(np.arange(tables), flows)
    places = rng.integers(0, cells, (hashes, tables * flows))
    # Row k of `places` is the k-th cell of each flow. A cell that the flow already has is replaced
    # by the next one.
    for number in range(1, hashes):
        place = places[number]
        while (taken := (places[:number] == place).any(axis=0)).any():
            place[taken] = (place[taken] + 1) % cells
    places += table * cells
    # For each cell, `count` is how many flows are left in it, and `numbers` the sum of their
    # numbers. In a cell with one flow, the sum is the number of that flow.
    count = np.bincount(places.ravel(), minlength=tables * cells)
    every = np.tile(np.arange(tables * flows, dtype=float), hashes)
    numbers = np.bincount(places.ravel(), every, tables * cells).astype(np.int64)
    unlisted = np.ones(tables * flows, bool)
    pure = np.flatnonzero(count == 1)
    while pure.size:
        found = np.unique(numbers[pure])
        unlisted[found] = False
        touched = places[:, found]
        for place in touched:
            # Unlike `-=`, this subtracts as often as a cell is there.
            np.subtract.at(count, place, 1)
            np.subtract.at(numbers, place, found)
        touched = np.unique(touched)
        pure = touched[count[touched] == 1]
    return np.bincount(table[unlisted], minlength=tables)


def same_cells(flows: int, cells: int, hashes: int) -> float:
    """Return the expected number of pairs of flows that have the same cells. Such flows cannot be
    listed, because none of their cells ever has only one flow."""
    sets = comb(cells, hashes)
    return comb(flows, 2) / sets if sets else float(flows > 1)


def cells_for(flows: int, hashes: int, success: float, seed: int) -> tuple[int, Success]:
    """Return the number of cells with which tables are listed fully with the probability `success`,
    and a simulation with other random flows as a check. The number is found by bisection.

    A size is enough if at most half of the failures happen that `success` allows, so that chance in
    the simulation does not decide. Two flows with the same cells are a failure that is too rare for
    few tables to show it. Its probability is computed instead, and may use the other half.
    """
    # So many tables that 20 may fail, unless their flows would be too many.
    tables = max(_FEWEST_TABLES, min(round(20 / (1 - success)), _MOST_FLOWS // flows))

    def enough(cells: int) -> bool:
        # At most half of the failures that `success` allows.
        found = simulated(flows, cells, hashes, tables, seed)
        return 2 * (tables - found.complete) <= (1 - success) * tables

    # Smaller tables are not tried: they are below the threshold, or two flows with the same cells
    # are too likely in them.
    least = int(threshold(hashes) * flows)
    while same_cells(flows, least, hashes) > (1 - success) / 2:
        least += max(1, least // 200)
    # The result is above `low`, and at most `high` once that is known; it is exact to 0.5 %.
    low = max(hashes, least) - 1
    step = max(1, low // 16)
    while not enough(high := low + step):
        low, step = high, 2 * step
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high, simulated(flows, high, hashes, tables, seed + 1)
