"""Rank tests: scipy, brute force and the inversion of the tests are the judges."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.tiers import examples

from sfcperf.analysis.two_sample.ranks import MOST_EXACT, RankSum, SignedRank

# Few distinct values: ties in most examples. Quarters are exact as floats.
tied = st.integers(0, 7).map(lambda number: number / 4)
distinct = st.lists(st.integers(-10_000, 10_000), min_size=4, max_size=18, unique=True)


def rank_sum_by_enumeration(a: list[float], b: list[float]) -> tuple[float, float]:
    """P(as low), P(as high) over all splits of the pooled values."""
    ranks = stats.rankdata([*a, *b])
    seen = ranks[len(a) :].sum()
    sums = [sum(choice) for choice in combinations(ranks, len(b))]
    return (
        float(np.mean([s <= seen + 1e-9 for s in sums])),
        float(np.mean([s >= seen - 1e-9 for s in sums])),
    )


@given(st.lists(tied, min_size=1, max_size=6), st.lists(tied, min_size=1, max_size=6))
@examples(60)
def test_rank_sum_with_ties_is_the_permutation_test(a: list[float], b: list[float]) -> None:
    low, high = rank_sum_by_enumeration(a, b)
    test = RankSum(a, b)
    assert test.p_below(0) == pytest.approx(low)
    assert test.p_above(0) == pytest.approx(high)
    assert test.p == pytest.approx(min(1, 2 * min(low, high)))


@given(distinct, st.data())
@examples(60)
def test_rank_sum_without_ties_is_scipys(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    a, b = values[:cut], values[cut:]
    judge = stats.mannwhitneyu(b, a, method="exact")
    assert RankSum(a, b).p == pytest.approx(judge.pvalue)


@given(st.lists(st.integers(-6, 6).map(lambda n: n / 4), min_size=1, max_size=9))
@examples(60)
def test_signed_rank_with_ties_and_zeros_is_the_sign_flip_test(d: list[float]) -> None:
    ranks = stats.rankdata(np.abs(d)) * (np.asarray(d) != 0)
    seen = ranks[np.asarray(d) > 0].sum()
    sums = [sum(r for r, up in zip(ranks, signs, strict=True) if up)
            for signs in product((False, True), repeat=len(d))]  # fmt: skip
    test = SignedRank([0.0] * len(d), d)
    if any(d):
        assert test.p_below(0) == pytest.approx(np.mean([s <= seen + 1e-9 for s in sums]))
        assert test.p_above(0) == pytest.approx(np.mean([s >= seen - 1e-9 for s in sums]))
    else:
        assert test.p == 1


@given(st.lists(st.integers(1, 10_000), min_size=3, max_size=20, unique=True), st.data())
@examples(60)
def test_signed_rank_without_ties_is_scipys(sizes: list[int], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    d = [size * sign for size, sign in zip(sizes, signs, strict=True)]
    judge = stats.wilcoxon(d, method="exact")
    assert SignedRank([0] * len(d), d).p == pytest.approx(judge.pvalue)


@pytest.mark.parametrize(
    ("n", "m", "least"), [(3, 3, 0.1), (4, 4, 2 / 70), (5, 5, 2 / 252), (2, 3, 0.2), (1, 1, 1.0)]
)
def test_the_least_p_of_few_trials(n: int, m: int, least: float) -> None:
    test = RankSum(range(n), range(n, n + m))
    assert test.p_least == pytest.approx(least)
    assert test.p == pytest.approx(least)


@pytest.mark.parametrize(("n", "least"), [(3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_the_least_p_of_few_pairs(n: int, least: float) -> None:
    test = SignedRank([0] * n, range(1, n + 1))
    assert test.p_least == pytest.approx(least) == pytest.approx(test.p)


def test_equal_values_can_show_nothing() -> None:
    assert RankSum([5, 5, 5], [5, 5, 5, 5]).p_least == 1
    assert SignedRank([5] * 8, [5] * 8).p_least == 1


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("n", [6, 9, 20])
def test_the_interval_holds_what_the_test_does_not_reject(n: int, paired: bool) -> None:
    random = np.random.default_rng(n)
    a, b = random.normal(10, 1, n), random.normal(10.5, 2, n if paired else n + 2)
    test = SignedRank(a, b) if paired else RankSum(a, b)
    low, high = test.interval(0.95)
    for shift in np.linspace(low - 1, high + 1, 101):
        moved = SignedRank(a + shift, b) if paired else RankSum(a + shift, b)
        assert (moved.p > 0.05) == (low < shift < high)


def test_the_shift_is_the_median_of_differences() -> None:
    a, b = [1.0, 2.0, 4.0], [2.0, 5.0, 9.0, 3.0]
    assert RankSum(a, b).shift == np.median([y - x for x in a for y in b])
    d = [1.0, -2.0, 4.0]
    walsh = [(d[i] + d[j]) / 2 for i in range(3) for j in range(i, 3)]
    assert SignedRank([0.0] * 3, d).shift == np.median(walsh)


def test_too_few_trials_have_no_interval() -> None:
    assert RankSum([1, 2, 3], [4, 5, 6]).interval(0.95) is None
    assert RankSum([1, 2, 3], [4, 5, 6]).interval(0.9) == (1, 5)
    assert SignedRank([0] * 5, [1, 2, 3, 4, 5]).interval(0.95) is None


@pytest.mark.parametrize("paired", [False, True])
def test_the_normal_approximation_takes_over_without_a_jump(paired: bool) -> None:
    random = np.random.default_rng(3)
    n = MOST_EXACT if paired else MOST_EXACT // 2
    a, b = random.normal(0, 1, n), random.normal(0.35, 1, n)
    kind = SignedRank if paired else RankSum
    exact, normal = kind(a, b), kind(np.append(a, 0.01), np.append(b, 0.3))
    assert exact.p == pytest.approx(normal.p, rel=0.25)
    first, second = exact.interval(0.95), normal.interval(0.95)
    assert first == pytest.approx(second, abs=0.05)
    judge = (
        stats.wilcoxon(b - a, method="exact")
        if paired
        else stats.mannwhitneyu(b, a, method="exact")
    )
    assert exact.p == pytest.approx(judge.pvalue)
