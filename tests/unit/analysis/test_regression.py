"""Least squares: numpy's solver, statsmodels' HC3, the definition of R^2 and simulated coverage as
judges."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from sfcperf.analysis.statistics import fit_line
from sfcperf.analysis.statistics.regression import ROUNDS_METHOD, TRIALS_METHOD

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
    design = numpy.column_stack([numpy.ones(len(x)), x])
    (intercept, slope), *_ = numpy.linalg.lstsq(design, numpy.array(y), rcond=None)
    scale = max(map(abs, y))
    assert line.slope == pytest.approx(slope, rel=1e-6, abs=1e-9 * scale)
    assert line.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-8 * scale)
    residuals = numpy.array(y) - design @ [line.intercept, line.slope]
    explained = 1 - residuals @ residuals / numpy.sum((numpy.array(y) - numpy.mean(y)) ** 2)
    assert line.r_squared == pytest.approx(explained, abs=1e-6)
    if line.slope_interval is not None:
        assert line.slope_interval.low <= line.slope <= line.slope_interval.high


@given(POINTS)
def test_without_rounds_the_interval_is_statsmodels_hc3(points: list[tuple[float, float]]) -> None:
    x, y = (list(column) for column in zip(*points, strict=True))
    assume(len(set(x)) > 1 and max(y) - min(y) > 1e-2)
    line = fit_line(x, y, 0.9)
    found = OLS(y, numpy.column_stack([numpy.ones(len(x)), x])).fit()
    if found.get_influence().hat_matrix_diag.max() > 1 - 1e-9:
        assert line.slope_interval is None, "one trial decides whether there is a slope"
        return
    design = numpy.column_stack([numpy.ones(len(x)), x])
    residual = numpy.eye(len(x)) - design @ numpy.linalg.pinv(design)
    weights = (numpy.linalg.pinv(design)[1] / numpy.diag(residual)) ** 2
    eigenvalues = numpy.linalg.eigvalsh(residual @ numpy.diag(weights) @ residual)
    freedom = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    expected = found.HC3_se[1] * stats.t.ppf(0.95, freedom)
    assert line.slope_interval.method == TRIALS_METHOD
    scale = max(map(abs, y))
    assert line.slope_interval.half_width == pytest.approx(expected, rel=1e-5, abs=1e-8 * scale)


@given(st.integers(3, 8), st.integers(2, 6), st.builds(Random, st.integers(0, 10**6)))
def test_complete_rounds_have_the_interval_of_slopes(
    rounds: int, levels: int, random: Random
) -> None:
    """The t interval of the mean of independent slopes is exact."""
    slopes, x, y, of = [], [], [], []
    for number in range(rounds):
        values = [random.gauss(10, 3) for _ in range(levels)]
        slopes.append(OLS(values, numpy.vander(range(levels), 2)).fit().params[0])
        x += range(levels)
        y += values
        of += [number] * levels
    line = fit_line(x, y, 0.95, of)
    assert line.slope_interval.method == ROUNDS_METHOD
    low, high = stats.t.interval(
        0.95, rounds - 1, numpy.mean(slopes), numpy.std(slopes, ddof=1) / rounds**0.5
    )
    assert (line.slope_interval.low, line.slope_interval.high) == pytest.approx((low, high))


@given(POINTS, st.sampled_from([1e-200, 1e-30, 1e18, 1e90]), st.sampled_from([1e-200, 1e18]))
def test_magnitude_changes_nothing_but_the_unit(
    points: list[tuple[float, float]], of_y: float, of_x: float
) -> None:
    x, y = (list(column) for column in zip(*points, strict=True))
    assume(len(set(x)) > 1 and max(y) - min(y) > 1e-2)
    rounds = [number % 4 for number in range(len(x))]
    plain = fit_line(x, y, 0.95, rounds)
    line = fit_line([v * of_x for v in x], [v * of_y for v in y], 0.95, rounds)
    scale = max(map(abs, y))
    unit = of_y / of_x
    assert line.slope / unit == pytest.approx(plain.slope, rel=1e-6, abs=1e-9 * scale)
    assert line.intercept / of_y == pytest.approx(plain.intercept, rel=1e-6, abs=1e-8 * scale)
    assert (line.slope_interval is None) == (plain.slope_interval is None)
    if line.slope_interval is not None and plain.slope_interval is not None:
        assert line.slope_interval.half_width / unit == pytest.approx(
            plain.slope_interval.half_width, rel=1e-4, abs=1e-7 * scale
        )


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1e-320, 2e-320, 3e-320], [1e100, 2e100, 4e100]),  # a slope beyond any float
        ([1e300, -1e300, 0], [1e-200, 2e-200, 4e-200]),  # a slope of nothing
    ],
)
def test_a_slope_that_no_float_holds_is_none(x: list[float], y: list[float]) -> None:
    assert fit_line(x, y, 0.95) is None


@pytest.mark.parametrize(
    ("x", "y", "slope", "intercept", "r_squared"),
    [
        ([0, 1, 2, 3], [5, 7, 9, 11], 2, 5, 1),
        ([1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3], [5, 7, 9, 11], 2, None, 1),  # digits are kept
        ([0, 2], [1, 5], 2, 1, None),  # two points say nothing of linearity
        ([0, 1, 2], [4, 4, 4], 0, 4, None),
    ],
)
def test_exact_lines(x: Any, y: Any, slope: float, intercept: float | None, r_squared: Any) -> None:
    line = fit_line(x, y, 0.95)
    assert line.slope == pytest.approx(slope, rel=1e-12)
    assert intercept is None or line.intercept == pytest.approx(intercept)
    assert line.r_squared == (r_squared and pytest.approx(r_squared))
    if len(x) == 2:
        assert line.slope_interval is None
    else:
        assert line.slope_interval.half_width == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([3, 3, 3], [1, 2, 3])])
def test_no_line_without_two_values_of_x(x: list[float], y: list[float]) -> None:
    assert fit_line(x, y, 0.95) is None


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("growth", [0.0, 1.0])
@pytest.mark.parametrize("shared", [0.0, 30.0])
def test_slope_interval_covers_as_often_as_it_says(growth: float, shared: float) -> None:
    """Also when longer chains scatter more, and when a round disturbs all its trials alike."""
    random = numpy.random.default_rng(2)
    lengths = numpy.array([0.0, 1, 2, 4, 8])
    rounds = numpy.repeat(range(5), 5)
    covering = 0
    for _ in range(1000):
        scatter = random.normal(0, 1, (5, 5)) * 10 * (1 + growth * lengths)
        y = 200 + 95 * lengths + scatter + shared * random.normal(0, 1, (5, 1))
        line = fit_line(numpy.tile(lengths, 5).tolist(), y.ravel().tolist(), 0.9, rounds.tolist())
        covering += line.slope_interval.low <= 95 <= line.slope_interval.high
    assert 870 <= covering <= 930
