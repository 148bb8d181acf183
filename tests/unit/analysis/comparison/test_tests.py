"""t tests, TOST, Holm and effect sizes against scipy, statsmodels and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from sfcperf.analysis.statistics import at_most, holm
from sfcperf.analysis.two_sample import PairedT, WelchT, cliffs_delta, hedges_g, rank_biserial
from sfcperf.analysis.two_sample.ranks import RankSum

quarters = st.integers(0, 20).map(lambda number: number / 4)


@pytest.mark.parametrize("seed", range(5))
def test_t_tests_are_scipys(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(10, 1, 4 + seed), random.normal(10.8, 3, 6 + seed)
    judge, test = stats.ttest_ind(b, a, equal_var=False), WelchT(a.tolist(), b.tolist())
    assert test.p == pytest.approx(judge.pvalue)
    assert test.interval(0.95) == pytest.approx(tuple(judge.confidence_interval(0.95)))
    b = b[: len(a)]
    judge, paired = stats.ttest_rel(b, a), PairedT(a.tolist(), b.tolist())
    assert paired.p == pytest.approx(judge.pvalue)
    assert paired.interval(0.9) == pytest.approx(tuple(judge.confidence_interval(0.9)))


def test_a_t_test_without_dispersion_claims_nothing() -> None:
    assert WelchT([5, 5, 5], [6, 6, 6]).p is None
    assert WelchT([5, 5, 5], [5.01, 5.01, 5.01]).tost_p(-1, 1) is None
    assert WelchT([5, 5, 5], [5, 5, 5]).p == 1
    assert WelchT([5, 5, 5], [5, 5, 5]).tost_p(-1, 1) == 0


@pytest.mark.parametrize("seed", range(5))
def test_tost_by_t_is_statsmodels(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(10, 1, 8), random.normal(10.2, 2, 8)
    judge = ttost_ind(b, a, -1, 1.5, usevar="unequal")[0]
    assert WelchT(a.tolist(), b.tolist()).tost_p(-1, 1.5) == pytest.approx(judge)
    judge = ttost_paired(b, a, -1, 1.5)[0]
    assert PairedT(a.tolist(), b.tolist()).tost_p(-1, 1.5) == pytest.approx(judge)


@pytest.mark.parametrize("seed", range(5))
def test_tost_by_ranks_is_two_tests_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(10, 1, 8), random.normal(10.2, 1, 7)
    sides = (
        stats.mannwhitneyu(b, a - 1, alternative="greater", method="exact").pvalue,
        stats.mannwhitneyu(b, a + 1.5, alternative="less", method="exact").pvalue,
    )
    assert RankSum(a, b).tost_p(-1, 1.5) == pytest.approx(max(sides))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    judge = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(judge.tolist())
    assert holm([]) == []


def test_at_most_forgives_rounding_only() -> None:
    assert at_most(1 / 20, 0.05)
    assert at_most(0.1 + 0.2 - 0.25, 0.05)
    assert not at_most(0.0501, 0.05)
    assert not at_most(None, 0.05)


@given(st.lists(quarters, min_size=2, max_size=8), st.lists(quarters, min_size=2, max_size=8))
def test_cliffs_delta_counts_pairs(a: list[float], b: list[float]) -> None:
    found = cliffs_delta(a, b, 0.95)
    assert found.value == pytest.approx(np.sign(np.subtract.outer(b, a)).mean(), abs=1e-9)
    assert -1 <= found.low <= found.value + 1e-8
    assert found.value - 1e-8 <= found.high <= 1


def test_complete_separation_has_an_interval_too() -> None:
    few, many = (cliffs_delta(range(n), range(n, 2 * n), 0.95) for n in (3, 30))
    assert few.low < 0.3 < 0.8 < many.low < 1
    assert few.high == many.high == 1


def test_the_interval_of_cliffs_delta_covers() -> None:
    random = np.random.default_rng(1)
    truth = 2 * stats.norm.cdf(1 / np.sqrt(2)) - 1
    found = [
        cliffs_delta(random.normal(0, 1, 10), random.normal(1, 1, 10), 0.95) for _ in range(600)
    ]
    share = np.mean([f.low <= truth <= f.high for f in found])  # type: ignore[operator]
    assert 0.93 <= share <= 0.98


def test_rank_biserial_of_pairs() -> None:
    d = np.array([1.0, -2.0, 3.0, 4.0, 0.0])
    # Ranks of 1, 2, 3, 4 without the zero: up 8, down 2 of 10.
    assert rank_biserial([0.0] * 5, d.tolist(), 0.95).value == pytest.approx(0.6)
    assert rank_biserial([0.0] * 3, [1.0, 2.0, 3.0], 0.95).low is None


def test_hedges_g() -> None:
    a, b = [1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0]
    found = hedges_g(a, b, False, 0.95)
    spread = np.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2)
    unbiased = 1 - 3 / (4 * 6 - 1)
    assert found.value == pytest.approx(2 / spread * unbiased)
    # The noncentral t of each end has the observed t at its 97.5 % and 2.5 % point.
    t = 2 / spread * np.sqrt(2)
    ends = [end / unbiased * np.sqrt(2) for end in (found.low, found.high)]  # type: ignore[operator]
    tails = [stats.nct.cdf(t, 6, end) for end in ends]
    assert tails == pytest.approx([0.975, 0.025], abs=1e-4)
    assert hedges_g([1, 1, 1], [2, 2, 2], False, 0.95) is None


@pytest.mark.parametrize("scale", [1e98, 1e-120])
def test_welch_of_the_largest_and_smallest_values(scale: float) -> None:
    random = np.random.default_rng(1)
    a, b = random.normal(10, 1, 5), random.normal(10.8, 3, 6)
    expected = WelchT(a.tolist(), b.tolist())
    found = WelchT((a * scale).tolist(), (b * scale).tolist())
    assert found.p == pytest.approx(expected.p)
