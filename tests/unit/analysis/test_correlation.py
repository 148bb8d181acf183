"""Correlation coefficients, judged by scipy, statsmodels and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api
from hypothesis import assume, given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.analysis.statistics.correlation import (
    Coefficient,
    CoefficientName,
    correlation,
)

numbers = st.floats(-1e6, 1e6).map(lambda v: round(v, 3))
pairs = st.lists(st.tuples(numbers, numbers), min_size=4, max_size=30)


def found(result: Coefficient | str) -> Coefficient:
    assert isinstance(result, Coefficient), result
    return result


@examples(80)
@given(pairs)
def test_pearson_is_scipys(points: list[tuple[float, float]]) -> None:
    x, y = map(list, zip(*points, strict=True))
    assume(np.std(x) > 1e-3 and np.std(y) > 1e-3)
    mine = found(correlation("pearson", x, y, 0.95))
    judge = scipy.stats.pearsonr(x, y)
    assert mine.r == pytest.approx(judge.statistic, abs=1e-9)
    assert mine.p == pytest.approx(judge.pvalue, abs=1e-6)
    if abs(mine.r) < 1 - 1e-9:
        interval = judge.confidence_interval(0.95)
        assert (mine.ci_low, mine.ci_high) == pytest.approx(tuple(interval), abs=1e-6)


@examples(80)
@given(pairs)
def test_spearman_is_scipys(points: list[tuple[float, float]]) -> None:
    x, y = map(list, zip(*points, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    mine = found(correlation("spearman", x, y, 0.95))
    judge = scipy.stats.spearmanr(x, y)
    assert mine.r == pytest.approx(judge.statistic, abs=1e-9)
    if len(points) > 8 and abs(mine.r) < 1 - 1e-9:
        assert mine.p == pytest.approx(judge.pvalue, abs=1e-6)
    assert -1 <= mine.ci_low <= mine.r + 1e-12
    assert mine.r - 1e-12 <= mine.ci_high <= 1


def test_exact_p_is_that_of_all_permutations() -> None:
    rng = np.random.default_rng(1)
    for n, ties in ((4, False), (5, True), (6, True)):
        x = rng.normal(size=n)
        y = np.round(rng.normal(size=n)) if ties else rng.normal(size=n)
        if len(set(y)) < 2:
            continue
        judge = scipy.stats.permutation_test(
            (x,),
            lambda a, y=y: scipy.stats.spearmanr(a, y).statistic,
            permutation_type="pairings",
            n_resamples=np.inf,
        )
        # scipy doubles the smaller tail; ours counts both, so ties can make it smaller.
        both = np.mean(np.abs(judge.null_distribution) >= abs(judge.statistic) - 1e-12)
        assert found(correlation("spearman", x, y, 0.95)).p == pytest.approx(both)


def test_the_smallest_known_exact_p() -> None:
    """Of four trials in one order, 2 of 4! orders are as extreme."""
    result = found(correlation("spearman", [1, 2, 3, 4], [10, 20, 30, 400], 0.95))
    assert (result.r, result.p) == pytest.approx((1, 2 / 24))


@examples(60)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(3, 8))
def test_partial_is_a_regression_with_scenario_constants(seed: int, groups: int, each: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), each)
    x = rng.normal(size=len(codes)) + 3 * codes
    y = rng.normal(size=len(codes)) - 5 * codes
    mine = found(correlation("pearson", x, y, 0.95, list(codes)))
    dummies = (codes[:, None] == np.arange(groups)).astype(float)
    fit = statsmodels.api.OLS(y, np.column_stack([x, dummies])).fit()
    t, freedom = fit.tvalues[0], fit.df_resid
    assert mine.r == pytest.approx(t / np.sqrt(t * t + freedom), abs=1e-9)
    assert mine.p == pytest.approx(fit.pvalues[0], abs=1e-9)


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("name", ["pearson", "spearman"])
@pytest.mark.parametrize("groups", [1, 4])
def test_intervals_hold_the_truth_as_often_as_they_say(name: CoefficientName, groups: int) -> None:
    rng = np.random.default_rng(20)
    rho, repetitions, n = 0.5, 1200, 24
    # Of normal pairs, Spearman's coefficient tends to this (Kendall & Gibbons, section 9.11).
    truth = rho if name == "pearson" else 6 / np.pi * np.arcsin(rho / 2)
    held = 0
    for _ in range(repetitions):
        codes = np.repeat(np.arange(groups), n // groups)
        x = rng.normal(size=n)
        y = rho * x + np.sqrt(1 - rho * rho) * rng.normal(size=n)
        result = found(correlation(name, x, y, 0.95, list(codes)))
        held += result.ci_low <= truth <= result.ci_high
    assert 0.93 <= held / repetitions <= 0.97


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("name", ["pearson", "spearman"])
@pytest.mark.parametrize("n", [5, 12])
def test_p_is_below_alpha_no_more_often_than_alpha(name: CoefficientName, n: int) -> None:
    rng = np.random.default_rng(3)
    repetitions = 1200
    alarms = sum(
        found(correlation(name, rng.normal(size=n), rng.normal(size=n), 0.95)).p <= 0.05
        for _ in range(repetitions)
    )
    assert alarms / repetitions <= 0.066


@pytest.mark.parametrize("name", ["pearson", "spearman"])
@pytest.mark.parametrize(
    ("x", "y", "scenarios", "reason"),
    [
        ([1, 2, 3], [1, 2, 4], None, "3 independent trials: at least 4 are needed"),
        ([], [], None, "0 independent trials: at least 4 are needed"),
        ([1, 2, 3, 4], [1, 2, 3, 5], list("abcd"), "0 independent trials: at least 4 are needed"),
        ([0.1] * 5, [1, 2, 3, 4, 5], None, "the telemetry does not vary"),
        ([1, 2, 3, 4, 5], [0.0] * 5, None, "the metric does not vary"),
    ],
)
def test_why_there_is_none(
    name: CoefficientName, x: list[float], y: list[float], scenarios: Any, reason: str
) -> None:
    assert correlation(name, x, y, 0.95, scenarios) == reason


def test_what_rounding_leaves_of_a_constant_is_no_variation() -> None:
    third = [0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3, 0.3]
    assert correlation("pearson", third, [1, 2, 3, 4, 5], 0.95) == "the telemetry does not vary"


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_does_not_matter(scale: float) -> None:
    x, y = [1.0, 2.0, 4.0, 3.0, 7.0], [2.0, 1.0, 5.0, 6.0, 9.0]
    scaled = correlation("pearson", [scale * v for v in x], y, 0.95)
    assert found(scaled).r == pytest.approx(found(correlation("pearson", x, y, 0.95)).r)


def test_exactly_on_a_line() -> None:
    result = found(correlation("pearson", [1, 2, 3, 4], [-2, -4, -6, -8], 0.95))
    assert result.r == pytest.approx(-1)
    assert result.p == pytest.approx(0, abs=1e-9)
    assert result.ci_high == pytest.approx(-1, abs=1e-6)
