"""Least squares: numpy's solver, the definition of R^2 and simulated coverage as judges."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfcperf.analysis.statistics import fit_line

POINTS = st.lists(
    st.tuples(st.integers(0, 32).map(float), st.floats(-1e6, 1e6).map(lambda v: round(v, 3))),
    min_size=3,
    max_size=60,
)


@given(POINTS)
def test_line_is_the_least_squares_solution(points: list[tuple[float, float]]) -> None:
    x, y = (list(column) for column in zip(*points, strict=True))
    assume(len(set(x)) > 1 and max(y) - min(y) > 1e-2)
    line = fit_line(x, y, 0.95)
    assert line is not None
    design = numpy.column_stack([numpy.ones(len(x)), x])
    (intercept, slope), *_ = numpy.linalg.lstsq(design, numpy.array(y), rcond=None)
    scale = max(map(abs, y))
    assert line.slope == pytest.approx(slope, rel=1e-6, abs=1e-9 * scale)
    assert line.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-8 * scale)
    residuals = numpy.array(y) - design @ [line.intercept, line.slope]
    explained = 1 - residuals @ residuals / numpy.sum((numpy.array(y) - numpy.mean(y)) ** 2)
    assert line.r_squared == pytest.approx(explained, abs=1e-6)
    assert line.slope_interval is not None
    assert line.slope_interval.low <= line.slope <= line.slope_interval.high


def test_an_exact_line() -> None:
    line = fit_line([0, 1, 2, 3], [5, 7, 9, 11], 0.95)
    assert line is not None
    assert (line.slope, line.intercept) == pytest.approx((2, 5))
    assert line.r_squared == pytest.approx(1)
    assert line.slope_interval is not None
    assert line.slope_interval.half_width == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([3, 3, 3], [1, 2, 3])])
def test_no_line_without_two_values_of_x(x: list[float], y: list[float]) -> None:
    assert fit_line(x, y, 0.95) is None


def test_two_points_say_nothing_of_linearity() -> None:
    line = fit_line([0, 2], [1, 5], 0.95)
    assert line is not None
    assert (line.slope, line.intercept) == pytest.approx((2, 1))
    assert line.r_squared is None and line.slope_interval is None


def test_constant_y_is_a_flat_line_without_r_squared() -> None:
    line = fit_line([0, 1, 2], [4, 4, 4], 0.95)
    assert line is not None
    assert (line.slope, line.intercept, line.r_squared) == (0, 4, None)
    assert line.slope_interval is not None and line.slope_interval.half_width == 0


def test_slope_interval_covers_as_often_as_it_says() -> None:
    random = numpy.random.default_rng(2)
    x = [float(length) for length in (0, 1, 2, 4, 8) for _ in range(3)]
    covering = 0
    for _ in range(1000):
        y = [
            200 + 95 * length + error
            for length, error in zip(x, random.normal(0, 40, 15), strict=True)
        ]
        line = fit_line(x, y, 0.9)
        assert line is not None and line.slope_interval is not None
        covering += line.slope_interval.low <= 95 <= line.slope_interval.high
    assert 870 <= covering <= 930
