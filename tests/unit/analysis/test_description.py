"""Descriptions of a metric's trials, numpy as judge."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.analysis.statistics import Rules, describe


# Rounded, because numpy squares what is tiny to 0.
@given(st.lists(st.floats(-1e12, 1e12).map(lambda v: round(v, 6)), min_size=2, max_size=50))
def test_numbers_are_numpys(values: list[float]) -> None:
    found = describe(values, Rules())
    scale = 1e-12 * max(map(abs, values))
    assert found.n == len(values)
    assert found.mean.value == pytest.approx(numpy.mean(values), rel=1e-9, abs=scale)
    assert found.median.value == pytest.approx(numpy.median(values), rel=1e-9, abs=scale)
    assert found.stdev == pytest.approx(numpy.std(values, ddof=1), rel=1e-6, abs=1e4 * scale)
    assert (found.min, found.max) == (min(values), max(values))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=30))
def test_order_of_the_numbers(values: list[float]) -> None:
    found = describe(values, Rules())
    assert found.min <= found.mean.value <= found.max
    assert found.min <= found.median.value <= found.max


def test_no_value() -> None:
    found = describe([], Rules())
    assert found.n == 0
    assert {found.mean.value, found.median.value, found.stdev, found.min, found.max} == {None}
    assert found.mean.withheld == found.median.withheld == "there is no valid trial"


def test_one_value() -> None:
    found = describe([7.5], Rules())
    assert (found.mean.value, found.median.value, found.min, found.max) == (7.5, 7.5, 7.5, 7.5)
    assert found.stdev is None and found.mean.interval is None
    assert found.median.withheld == "one trial shows no dispersion"
    assert found.relative_half_width is None


def test_values_at_and_around_zero() -> None:
    found = describe([0.0, 0.0, 0.0], Rules())
    assert (found.stdev, found.relative_half_width) == (0, 0)
    assert describe([-1.0, 1.0], Rules()).relative_half_width is None
