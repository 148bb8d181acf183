"""Percentiles: numpy as judge."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.results.percentiles import percentiles

ASKED = (1, 5, 25, 50, 75, 95, 99)


@pytest.mark.parametrize(
    ("n", "known"), [(0, ()), (1, (50,)), (2, (50,)), (3, (25, 50, 75)), (18, (25, 50, 75))]
)
def test_none_is_given_that_the_data_do_not_reach(n: int, known: tuple[int, ...]) -> None:
    found = percentiles(list(range(n)), ASKED)
    assert tuple(percent for percent, value in found.items() if value is not None) == known


def test_the_outermost_are_the_extremes_when_the_data_just_reach_them() -> None:
    found = percentiles(list(range(1, 20)), ASKED)
    assert (found[5], found[95], found[1], found[99]) == (1, 19, None, None)
    assert percentiles(list(range(1, 100)), ASKED)[99] == 99


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=200))
def test_they_are_numpys_to_the_last_digit(values: list[float]) -> None:
    for percent, value in percentiles(values, ASKED).items():
        expected = numpy.quantile(values, percent / 100, method="weibull")
        assert value is None or value == expected
