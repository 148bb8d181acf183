"""Brunner and Munzel's test against scipy, and tests that must agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfcperf.analysis.two_sample import RobustRanks, WelchT
from sfcperf.analysis.two_sample.brunner_munzel import BrunnerMunzel
from sfcperf.analysis.two_sample.ranks import RankSum


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("decimals", [3, 0])
def test_p_is_that_of_scipy(seed: int, decimals: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(10, 1, 6 + seed).round(decimals), random.normal(11, 3, 9).round(decimals)
    test = BrunnerMunzel(a.tolist(), b.tolist())
    assert test.p == pytest.approx(stats.brunnermunzel(a, b).pvalue)
    for bound in (-1.0, 0.5):
        judge = [
            stats.brunnermunzel(a + bound, b, alternative=side).pvalue
            for side in ("less", "greater")
        ]
        # scipy's alternatives are about a; "less" means that a is the smaller one.
        assert [test.p_above(bound), test.p_below(bound)] == pytest.approx(judge)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_holds_the_shifts_that_are_not_rejected(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(0, 1, 9), random.normal(1, 2, 12)
    test = BrunnerMunzel(a.tolist(), b.tolist())
    low, high = test.interval(0.95)
    for inside in np.linspace(low, high, 7)[1:-1]:
        assert min(test.p_above(inside), test.p_below(inside)) > 0.025
    assert test.p_above(low - 0.2) <= 0.025
    assert test.p_below(high + 0.2) <= 0.025


def test_sides_that_do_not_overlap() -> None:
    test = BrunnerMunzel([1.0, 2, 3], [7.0, 8, 9])
    assert (test.p, test.p_above(0.0), test.p_below(0.0)) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "m", "welch"), [(6, 6, False), (5, 6, True), (9, 20, True), (12, 20, False)]
)
def test_all_members_must_agree(n: int, m: int, welch: bool) -> None:
    random = np.random.default_rng(5)
    a, b = random.normal(10, 1, n).tolist(), random.normal(11, 1, m).tolist()
    members = [RankSum(a, b), BrunnerMunzel(a, b), *([WelchT(a, b)] if welch else [])]
    test = RobustRanks(a, b)
    assert test.p == max(member.p for member in members if member.p is not None)
    assert ("Welch" in test.name) is welch
    ends = [end for member in members if (end := member.interval(0.95)) is not None]
    assert test.interval(0.95) == (min(e[0] for e in ends), max(e[1] for e in ends))


def test_one_trial_has_ranks_alone() -> None:
    assert RobustRanks([1.0], [2.0]).name == "Wilcoxon rank-sum"
