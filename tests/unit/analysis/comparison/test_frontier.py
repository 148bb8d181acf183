"""The power that benchmarks/analysis/truth.py says no test can exceed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import log
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import multivariate_normal, nct, t

BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"
DRAWS = 20_000


@pytest.fixture(scope="module")
def frontier() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        for folder in (BENCHMARKS, BENCHMARKS / "analysis"):
            patch.syspath_prepend(str(folder))
        yield import_module("_truth.frontier")


@pytest.mark.parametrize("level", [0.05, 0.1])
def test_without_autocorrelation_it_is_that_of_the_t_test(
    frontier: ModuleType, level: float
) -> None:
    """Which is the most powerful invariant test of independent normal trials."""
    n, ratio, sd = 8, 1.06, 0.05
    row = frontier.FrontierRow(n, ratio, sd, (0.0,))
    bound, error = frontier.Frontier(row, DRAWS).bound(level)
    limit = t.ppf(1 - level / 2, 2 * n - 2)
    far = log(ratio) / sd * (n / 2) ** 0.5
    power = nct.sf(limit, 2 * n - 2, far) + nct.cdf(-limit, 2 * n - 2, far)
    assert bound == pytest.approx(power, abs=4 * error)
    assert error < 0.015


@pytest.mark.exhaustive
def test_what_must_not_look_like_a_shift_costs_power(frontier: ModuleType) -> None:
    """More with each correlation, and less with more trials, which tell them apart."""

    def bound(n: int, *nulls: float) -> float:
        row = frontier.FrontierRow(n, 1.06, 0.06, nulls)
        found: float = frontier.Frontier(row, DRAWS).bound(0.05)[0]
        return found

    alone, strong, both = bound(10, 0.0), bound(10, 0.0, 0.6), bound(10, 0.0, 0.3, 0.6)
    assert alone > strong + 0.03
    assert strong > both + 0.01
    assert bound(30, 0.0) - bound(30, 0.0, 0.6) < 0.03


@pytest.mark.parametrize(("r", "shift"), [(0.0, 0.0), (0.6, 0.0), (0.0, 1.2), (0.3, 0.7)])
def test_the_likelihood_is_that_of_all_locations_and_scales(
    frontier: ModuleType, r: float, shift: float
) -> None:
    """By sums of the normal density over both, up to the constant of all rows."""
    n = 3
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    normal = multivariate_normal(cov=np.kron(np.eye(2), float(r) ** lags if r else np.eye(n)))
    moved = np.repeat([0.0, shift], n)

    locations, scales = np.meshgrid(np.linspace(-8, 8, 161), np.linspace(0.01, 10, 400))

    def integral(values: np.ndarray) -> float:
        at = scales[..., None] * values + locations[..., None]
        both = sum(normal.pdf(at - sign * moved) for sign in (1, -1))
        return float((both * scales ** (2 * n - 2)).sum())

    random = np.random.default_rng(1)
    rows = random.standard_normal((2, 2 * n))
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= rows.std(axis=1, keepdims=True)
    ours = frontier.log_likelihood(rows, r, shift)
    independent = log(integral(rows[0])) - log(integral(rows[1]))
    assert ours[0] - ours[1] == pytest.approx(independent, abs=2e-3)


def test_neither_location_nor_scale_nor_order_of_sides_matters(frontier: ModuleType) -> None:
    values = np.random.default_rng(2).standard_normal((50, 20))
    swapped = np.roll(values, 10, axis=1)

    def ratio(of: np.ndarray) -> np.ndarray:
        found: np.ndarray = frontier.log_likelihood(of, 0.0, 1.0) - frontier.log_likelihood(of, 0.6)
        return found

    assert ratio(7 * values - 3) == pytest.approx(ratio(values), abs=1e-9)
    assert ratio(swapped) == pytest.approx(ratio(values), abs=1e-9)
