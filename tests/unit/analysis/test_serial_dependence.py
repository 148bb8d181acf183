"""Trials that resemble their predecessors count for less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter
from support.records.comparisons import row

from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.statistics.dependence import mann_kendall_p
from sfcperf.analysis.two_sample import InflatedTest, RobustRanks


def autoregressive(seed: int, n: int, r: float) -> list[float]:
    noise = np.random.default_rng(seed).standard_normal(n + 100)
    found: list[float] = lfilter([1], [1, -r], noise)[100:].tolist()
    return found


@pytest.mark.parametrize("r", [0.3, 0.6])
def test_the_factor_is_that_of_the_process(r: float) -> None:
    """Of a long series; the upper standard error adds little to it."""
    found = stretch([autoregressive(1, 20_000, r)])
    assert found.factor == pytest.approx(((1 + r) / (1 - r)) ** 0.5, rel=0.05)
    assert found.freedom == pytest.approx(20_000 / found.factor**2 - 1)


def test_independent_equal_or_few_values_are_left_alone() -> None:
    alternating = [float(n % 2) for n in range(20)]
    for values in ([[1.0] * 20], [[1.0, 2, 3, 4, 5]], [alternating], [alternating, [2.0] * 9]):
        assert stretch(values).factor == 1


def test_both_sides_together_tell_more_than_one() -> None:
    one, other = autoregressive(11, 12, 0.7), autoregressive(12, 12, 0.7)
    assert stretch([one, other]).factor > 1


def test_a_stretched_test_claims_less() -> None:
    a, b = autoregressive(3, 20, 0.6), [value + 2 for value in autoregressive(4, 20, 0.6)]
    plain = RobustRanks(a, b)
    found = InflatedTest(plain, 38, stretch([a, b]))
    assert found.p > plain.p
    wide, narrow = found.interval(0.95), plain.interval(0.95)
    assert wide[0] < narrow[0] < found.shift < narrow[1] < wide[1]
    assert found.shift == plain.shift


def test_the_row_says_so() -> None:
    a = [100 + value for value in autoregressive(3, 20, 0.6)]
    b = [100 + value for value in autoregressive(4, 20, 0.6)]
    assert "corrected for autocorrelation" in row(a, b).test
    assert any("resemble each other" in text for text in row(a, b).warnings)


FEW_LEVELS = st.integers(-3, 3).map(float)


@given(
    st.one_of(
        st.lists(st.floats(-1, 1), min_size=5, max_size=70, unique=True),
        st.lists(FEW_LEVELS, min_size=5, max_size=70).filter(lambda v: len(set(v)) > 1),
    )
)
def test_p_is_that_of_kendalls_tau_with_time(values: list[float]) -> None:
    expected = stats.kendalltau(range(len(values)), values).pvalue
    assert mann_kendall_p(np.array(values)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [5, 6, 33, 34, 60, 501])
def test_values_in_order(n: int) -> None:
    for values in (np.arange(n, dtype=float), -np.arange(n, dtype=float)):
        for swapped in (False, True):
            if swapped:
                values[[0, 1]] = values[[1, 0]]
            expected = stats.kendalltau(range(n), values).pvalue
            assert mann_kendall_p(values) == pytest.approx(expected, rel=1e-9)
