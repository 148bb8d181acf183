"""What n trials, and values in ticks, cannot see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sfcperf.analysis.statistics import least_to_see, rarest_mode, tick_of


@pytest.mark.parametrize(("n", "share"), [(0, 1.0), (1, 0.95), (10, 0.2589), (29, 0.0981)])
def test_the_rarest_mode_that_n_trials_show(n: int, share: float) -> None:
    assert rarest_mode(n) == pytest.approx(share, abs=1e-4)


@given(st.floats(0.001, 0.999))
def test_the_fewest_trials_are_those_of_the_binomial(share: float) -> None:
    n = least_to_see(share)
    assert binom.pmf(0, n, share) <= 0.05 * (1 + 1e-6)
    assert n == 1 or binom.pmf(0, n - 1, share) > 0.05 * (1 - 1e-6)


def test_ties_tell_the_tick() -> None:
    assert tick_of([300.0, 200.0, 300.0, 500.0, 200.0, 300.0]) == 100
    assert tick_of([1.0, 1.5, 2.25, 2.25, 4.0]) is None  # too few ties
    assert tick_of([3.0] * 9) is None
    assert tick_of([3.0] * 9, 0.5) == 0.5
