"""Tests of runs, of which there are few, against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfcperf.analysis.two_sample import CochranCox, OneAgainstRuns, RunLevelT

values = st.lists(st.integers(0, 40).map(lambda number: number / 4), min_size=2, max_size=6)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_groups_of_one_size_are_compared_by_scipys_welch(n: int) -> None:
    random = np.random.default_rng(n)
    a, b = random.normal(10, 1, n), random.normal(11, 2, n)
    judge, test = stats.ttest_ind(b, a, equal_var=False), RunLevelT(a.tolist(), b.tolist())
    assert test.p == pytest.approx(judge.pvalue)
    assert test.interval(0.95) == pytest.approx(tuple(judge.confidence_interval(0.95)))
    assert test.name == "Welch t of runs"


@given(values, values)
def test_cochran_and_cox_is_between_the_limits_of_t_and_never_below_welch(
    a: list[float], b: list[float]
) -> None:
    test = CochranCox(a, b)
    if test.p is None or len(set(a)) == len(set(b)) == 1:
        return
    error = np.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b))
    statistic = abs(np.mean(b) - np.mean(a)) / error
    few, many = sorted((len(a) - 1, len(b) - 1))
    between = [2 * stats.t.sf(statistic, freedom) for freedom in (many, few)]
    assert between[0] - 1e-9 <= test.p <= between[1] + 1e-9
    assert test.p >= stats.ttest_ind(a, b, equal_var=False).pvalue - 1e-9


@given(values, values, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_interval_p_and_one_sided_p_agree(a: list[float], b: list[float], level: float) -> None:
    for test in (CochranCox(a, b), RunLevelT(a, b)):
        if test.p is None or len(set(a)) == len(set(b)) == 1:
            continue
        low, high = test.interval(level)
        assert test.p_above(low) == pytest.approx((1 - level) / 2, abs=1e-6)
        assert test.p_below(high) == pytest.approx((1 - level) / 2, abs=1e-6)
        assert (low <= 0 <= high) == (test.p >= 1 - level) or test.p == pytest.approx(1 - level)


def test_two_runs_or_unequal_numbers_need_both_tests() -> None:
    assert RunLevelT([1, 2], [3, 4]).name == "Welch and Cochran-Cox t of runs"
    assert RunLevelT([1, 2, 4], [3, 4]).name == "Welch and Cochran-Cox t of runs"
    a, b = [10.0, 10.1], [12.0, 12.3, 12.1, 12.4, 12.2]
    assert RunLevelT(a, b).p == CochranCox(a, b).p


def test_runs_without_dispersion_claim_nothing() -> None:
    assert RunLevelT([5, 5], [6, 6, 6]).p is None
    assert RunLevelT([5, 5, 5], [5, 5, 5]).p == 1


@pytest.mark.parametrize("seed", range(4))
def test_one_run_against_several_is_a_prediction(seed: int) -> None:
    """A new observation beside a sample is outside its prediction interval."""
    random = np.random.default_rng(seed)
    group, one = random.normal(10, 1, 4 + seed).tolist(), [13.0]
    n = len(group)
    half = stats.t.ppf(0.975, n - 1) * np.std(group, ddof=1) * np.sqrt(1 + 1 / n)
    centre = float(np.mean(group))
    test = OneAgainstRuns(group, one)
    assert test.interval(0.95) == pytest.approx((13 - centre - half, 13 - centre + half))
    reverse = OneAgainstRuns(one, group)
    assert reverse.p == pytest.approx(test.p)
    assert reverse.shift == pytest.approx(-test.shift)
    assert OneAgainstRuns(group, one, more=1.0).p > test.p
