"""Sample sizes: an experiment of the size that was named, simulated with scipy, decides in about
four of five cases."""

from __future__ import annotations

from itertools import product
from math import log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from sfcperf.analysis.two_sample.detectable import smallest_shift
from sfcperf.analysis.two_sample.rank_power import least_trials, rank_power
from sfcperf.analysis.two_sample.sample_size import ObservedTrials, needed, t_power

BOUNDS = (log1p(-0.05), log1p(0.05))


def observed(shift: float, paired: bool, ranks: bool) -> ObservedTrials:
    """Trials with exactly this shift and a standard deviation of 0.03 (of the differences)."""
    z = stats.norm.ppf((np.arange(12) + 0.5) / 12)
    z = 0.03 * z / z.std(ddof=1)
    a = np.zeros(12) if paired else z
    return ObservedTrials(a, shift + z, paired, ranks, shift, 0.01, 0.05, BOUNDS)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("shift", [0.08, 0.06])
def test_enough_for_a_difference(shift: float, ranks: bool, paired: bool) -> None:
    seen = observed(shift, paired, ranks)
    found = needed(
        ObservedTrials(*[*vars(seen).values()][:2], paired, ranks, shift, 0.01, 0.05, None)
    )
    assert found.purpose == "difference"
    n = found.n or 0
    random = np.random.default_rng(1)
    b = random.normal(shift, 0.03, (2000, n))
    a = np.zeros_like(b) if paired else random.normal(0, 0.03, (2000, n))
    if ranks:
        p = (stats.wilcoxon(b - a, axis=1, method="exact") if paired
             else stats.mannwhitneyu(b, a, axis=1, method="exact")).pvalue  # fmt: skip
    else:
        p = (stats.ttest_rel if paired else stats.ttest_ind)(b, a, axis=1).pvalue
    # Never fewer than the 13 that were not enough.
    assert np.mean(p <= 0.01) >= 0.76
    if n > 13:
        assert np.mean(p <= 0.01) <= 0.9


@pytest.mark.parametrize("paired", [False, True])
def test_enough_for_equivalence(paired: bool) -> None:
    found = needed(observed(0.02, paired, ranks=False))
    assert found.purpose == "equivalence"
    n = found.n or 0
    random = np.random.default_rng(2)
    b = random.normal(0.02, 0.03, (2000, n))
    a = np.zeros_like(b) if paired else random.normal(0, 0.03, (2000, n))
    test = stats.ttest_rel if paired else stats.ttest_ind
    above = test(b, a + BOUNDS[0], axis=1, alternative="greater").pvalue
    below = test(b, a + BOUNDS[1], axis=1, alternative="less").pvalue
    power = np.mean(np.maximum(above, below) <= 0.05)
    assert power >= 0.76
    if n > 13:
        assert power <= 0.9
    by_ranks = needed(observed(0.02, paired, ranks=True))
    assert n <= (by_ranks.n or 0) <= 1.2 * n + 1


@pytest.mark.parametrize(
    ("alpha", "paired", "n"),
    [(0.05, False, 4), (0.05, True, 6), (0.05 / 12, False, 6), (0.05 / 12, True, 9)],
)
def test_the_least_that_a_rank_test_can_do_with(alpha: float, paired: bool, n: int) -> None:
    assert least_trials(alpha, paired) == n
    assert rank_power(n - 1, 100, alpha, paired) == 0
    assert rank_power(n, 100, alpha, paired) == 1


def test_no_difference_and_no_margin_cannot_be_decided() -> None:
    same = np.array([1.0, 2.0, 3.0, 4.0])
    assert needed(ObservedTrials(same, same, False, True, 0.0, 0.05, 0.05, None)).n is None


@pytest.mark.parametrize("n", [2, 3, 5, 20, 500, 10_000])
def test_the_power_of_the_t_test(n: int) -> None:
    for effect, alpha in product([0.01, 0.1, 1, 5, 50], [0.05, 1e-3, 1e-6]):
        of = {"effect_size": effect, "alpha": alpha, "alternative": "two-sided"}
        pairs, sides = TTestPower().power(nobs=n, **of), TTestIndPower().power(nobs1=n, **of)
        for paired, power in ((True, pairs), (False, sides)):
            found = t_power(n, effect, alpha, paired)
            assert 0 <= found <= 1.0001
            # The judge has no value for some large effects.
            assert np.isnan(power) or found == pytest.approx(power, abs=1e-3)


@pytest.mark.parametrize(("n", "alpha"), [(6, 0.05), (10, 0.05), (12, 0.004)])
def test_scipys_test_finds_it_in_four_of_five(n: int, alpha: float) -> None:
    shift = smallest_shift(n, alpha)
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 2000, n))
    p = stats.mannwhitneyu(a, b + shift, axis=1, method="exact").pvalue
    # Both are simulations: 1,000 and 2,000 draws.
    assert (p <= alpha).mean() == pytest.approx(0.8, abs=0.05)


def test_too_few_trials_show_nothing() -> None:
    assert smallest_shift(3, 0.05) is None
    assert smallest_shift(4, 0.05) is not None


@given(st.integers(2, 30), st.sampled_from([0.05, 0.01, 0.05 / 12]), st.booleans())
def test_it_exists_from_the_least_number_of_trials_on(n: int, alpha: float, paired: bool) -> None:
    found = smallest_shift(n, alpha, paired=paired)
    assert (found is not None) is (n >= least_trials(alpha, paired))
