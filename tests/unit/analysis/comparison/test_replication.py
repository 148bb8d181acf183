"""Several runs per side: what their dispersions are, what they decide, and what would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from support.records.comparisons import RTT, case, kept_floor, runs_case, runs_row

from sfcperf.analysis.comparison import Options, Row, percent_text
from sfcperf.analysis.comparison.evaluation import evaluate
from sfcperf.analysis.comparison.replication import Costs


def drawn(
    seed: int, runs: int, rounds: int, *, between: float, within: float, mean: float = 100.0
) -> list[list[float]]:
    random = np.random.default_rng(seed)
    states = mean * (1 + between * random.standard_normal(runs))
    return [(s * (1 + within * random.standard_normal(rounds))).tolist() for s in states]


def test_the_run_is_the_unit_and_scipy_agrees() -> None:
    a, b = drawn(1, 4, 8, between=0.02, within=0.03), drawn(2, 4, 8, between=0.02, within=0.03)
    found = runs_row(a, b)
    logs = [np.log([np.mean(run) for run in side]) for side in (a, b)]
    judge = stats.ttest_ind(logs[1], logs[0], equal_var=False)
    assert found.p == pytest.approx(judge.pvalue)
    low, high = judge.confidence_interval(0.95)
    assert found.relative.low == pytest.approx(np.expm1(low))
    assert found.relative.high == pytest.approx(np.expm1(high))


def test_dispersions_are_those_of_a_mixed_model() -> None:
    """Of a balanced design, restricted maximum likelihood and the method of moments agree."""
    import statsmodels.api as sm

    # Values below 0 are compared as they are, not by their logarithms.
    values = np.asarray(drawn(3, 8, 6, between=0.05, within=0.02)) - 100
    runs = values.tolist()
    fitted = sm.MixedLM(
        values.ravel(), np.ones((values.size, 1)), groups=np.repeat(range(8), 6)
    ).fit(reml=True)
    found = runs_row(runs, runs).replication
    assert found.a.between == pytest.approx(float(np.sqrt(fitted.cov_re[0, 0])), rel=1e-3)
    assert found.a.within == pytest.approx(float(np.sqrt(fitted.scale)), rel=1e-3)


measured = st.lists(
    st.lists(st.integers(50, 150).map(float), min_size=1, max_size=4), min_size=2, max_size=5
)


@given(measured, measured, st.sampled_from([0.01, 7.0]))
@settings(max_examples=25, deadline=None)
@example([[50.0], [50.0]], [[50.0, 50.0, 65.0], [55.0]], 0.01)
@example([[67.0]] * 5, [[67.0]] * 2, 0.01)
def test_the_unit_the_order_and_the_names_of_sides_do_not_matter(
    a: list[list[float]], b: list[list[float]], factor: float
) -> None:
    def judged(a: list[list[float]], b: list[list[float]]) -> Row:
        return evaluate([runs_case(a, b)], Options(), sizes=False)[0]

    found = judged(a, b)
    scaled = [[[factor * value for value in run] for run in side] for side in (a, b)]
    shuffled = [[run[::-1] for run in side[::-1]] for side in (a, b)]
    for other in (judged(*scaled), judged(*shuffled)):
        assert other.verdict == found.verdict
        assert other.p == pytest.approx(found.p, abs=1e-9)
    assert judged(b, a).p == pytest.approx(found.p, abs=1e-9)


def test_more_rounds_do_not_decide_what_runs_differ_by() -> None:
    """What a comparison of one run per side calls different ever more surely."""
    a, b = [[100.0, 101.0] * 20], [[103.0, 104.0] * 20]
    assert evaluate([case(a[0], b[0])], Options(margin=0.01))[0].verdict == "worse"
    again = [[106.0, 107.0] * 20], [[99.0, 100.0] * 20]
    assert runs_row(a + again[0], b + again[1]).verdict == "undecided"


def test_what_pays_follows_dispersions_and_costs() -> None:
    def effort(between: float, within: float, run_s: float) -> tuple[int, int]:
        a = drawn(5, 3, 6, between=between, within=within)
        b = drawn(6, 3, 6, between=between, within=within, mean=104.0)
        row = evaluate(
            [runs_case(a, b, costs=Costs(run_s, 10.0))], Options(margin=0.001, alpha=1e-3)
        )[0]
        assert row.verdict == "undecided"
        cheapest = row.replication.cheapest
        today = row.n_needed * (run_s + 6 * 10.0)
        assert cheapest.seconds <= today + 1e-9
        return cheapest.runs, cheapest.rounds

    _, few = effort(0.03, 0.01, 10.0)
    _, many = effort(0.005, 0.05, 600.0)
    assert few < 6 < many


def test_only_runs_help_where_runs_differ_most() -> None:
    a = drawn(5, 3, 6, between=0.05, within=0.001)
    b = drawn(8, 3, 6, between=0.05, within=0.001, mean=104.0)
    assert runs_row(a, b).replication.rounds_alone is False


def test_variants_of_the_same_runs_are_pairs_of_runs() -> None:
    state = drawn(1, 4, 5, between=0.2, within=0.01)
    factors = drawn(2, 4, 5, between=0.005, within=0.01, mean=1.05)
    slower = (np.asarray(state) * factors).tolist()
    found = runs_row(state, slower, paired=True)
    assert found.verdict == "worse"
    assert found.test == "paired t"
    assert runs_row(state, slower).verdict == "undecided"


def test_one_run_beside_several_is_taken_to_be_as_dispersed() -> None:
    a = drawn(1, 5, 8, between=0.03, within=0.01)
    found = runs_row(a, [[103.0, 104.0, 103.5, 104.5]])
    assert found.verdict == "undecided"
    assert found.test == "t of one run against several"
    assert any("single run" in text for text in found.warnings)
    assert runs_row(a, [[150.0, 151.0, 150.5, 151.5]]).verdict == "worse"


def test_losses_are_compared_as_differences() -> None:
    loss = replace(RTT, name="loss_ratio", unit="1")
    found = runs_row([[0, 0.01], [0, 0.02]], [[0.2, 0.21], [0.22, 0.2]], metric=loss)
    assert not found.replication.ratios
    assert found.difference.value == pytest.approx(0.2, abs=0.01)


def test_runs_that_stand_out_are_no_evidence_of_equivalence() -> None:
    runs = drawn(1, 8, 8, between=0.002, within=0.005)
    odd = [*runs[:-1], [1.04 * value for value in runs[-1]]]
    assert runs_row(runs, runs, Options(rarest=0.2)).verdict == "equivalent"
    found = runs_row(runs, odd, Options(rarest=0.2))
    assert any("runs are outliers" in text for text in found.withheld)
    assert found.verdict == "undecided"


# One run per side, and what the machine is known to do


def test_a_difference_within_the_noise_floor_is_undecided_and_says_so() -> None:
    a = [100.0, 101, 99.5, 100.5, 99, 101.5, 100.2, 99.8]
    b = [1.03 * value for value in a]
    one = case(a, b[::-1])
    assert evaluate([one], Options(margin=0.01))[0].verdict == "worse"
    floor = kept_floor([[mean] * 8 for mean in (98.0, 102.0, 100.0, 101.0)])
    found = evaluate([replace(one, floor=floor)], Options(margin=0.01))[0]
    assert found.verdict == "undecided"
    sd = float(np.std(np.log([98, 102, 100, 101]), ddof=1))
    within = float(np.var(np.log(a), ddof=1)) / 8
    limit = stats.t.ppf(0.975, 3) * np.sqrt(2 * sd**2 + 2 * within)
    assert found.floor.limit == pytest.approx(np.expm1(limit), rel=0.02)
    size = f"({100 * found.floor.limit:.2g} %, from 4 A/A runs)"
    assert any(size in text for text in found.warnings)
    beyond = replace(one, b=runs_case([a], [[1.2 * v for v in a]]).b, floor=floor)
    assert evaluate([beyond], Options(margin=0.01))[0].verdict == "worse"


def test_a_noise_floor_of_two_runs_hardly_tells_anything() -> None:
    a, b = [100.0, 101, 99.5, 100.5, 99, 101.5], [110.0, 111, 109.5, 110.5, 109, 111.5]
    one = replace(case(a, b), floor=kept_floor([[100.0, 101.0], [102.0, 103.0]]))
    assert evaluate([one], Options(margin=0.01))[0].verdict == "undecided"


def test_sizes_beyond_everything_are_plain_digits() -> None:
    texts = [percent_text(ratio) for ratio in (0.0614, 0.00036, 1.2345, 6.42, 500.0)]
    assert texts == ["6.1 %", "0.036 %", "120 %", "640 %", "50000 %"]
