"""The smallest change that a design can show, against tests of simulated trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfcperf.analysis.two_sample.detectable import smallest_shift
from sfcperf.analysis.two_sample.rank_power import least_trials


@pytest.mark.parametrize(("n", "alpha"), [(6, 0.05), (10, 0.05), (12, 0.004)])
def test_scipys_test_finds_it_in_four_of_five(n: int, alpha: float) -> None:
    shift = smallest_shift(n, alpha)
    assert shift is not None
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
