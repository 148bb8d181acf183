"""The Mann-Kendall test, scipy as judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfcperf.analysis.statistics.dependence import mann_kendall_p

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
@pytest.mark.parametrize("sign", [1, -1])
def test_values_in_order(n: int, sign: int) -> None:
    values = sign * np.arange(n, dtype=float)
    expected = stats.kendalltau(range(n), values).pvalue
    assert mann_kendall_p(values) == pytest.approx(expected, rel=1e-9)
    values[[0, 1]] = values[[1, 0]]
    expected = stats.kendalltau(range(n), values).pvalue
    assert mann_kendall_p(values) == pytest.approx(expected, rel=1e-9)
