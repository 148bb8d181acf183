"""Claims judged on run folders: values of rounds, intervals, verdicts and their reasons."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from support.records.trials import run_folder, trial

from sfcperf.analysis.claims.inference import Least, OverRounds, RSquared, least_rounds
from sfcperf.analysis.claims.rounds import RoundValues
from sfcperf.analysis.claims.verdicts import ClaimVerdict, judge
from sfcperf.analysis.statistics import stretch
from sfcperf.analysis.two_sample import SignedRank, SkewedT
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Claim, Operand

ROUNDS = 10
NOISE = [0.3, -0.8, 1.1, -0.4, 0.9, -1.2, 0.1, 0.6, -0.5, -0.1]
VALUES = st.lists(
    st.tuples(st.integers(900, 1100), st.integers(900, 1100)), min_size=7, max_size=15
)


def records(rounds: int = ROUNDS, growth: float = 5.0) -> list[TrialRecord]:
    """100 + 5 n + a disturbance of the round, at lengths 0 to 3, in two topologies; T2 adds 10."""
    found = []
    for index, (topology, length) in enumerate((t, n) for t in ("T1", "T2") for n in range(4)):
        base = 100 + growth * length + (10 if topology == "T2" else 0)
        levels = {"topology": topology, "length": length}
        for number in range(1, rounds + 1):
            value = base + NOISE[number - 1] + (number * index % 3 - 1) / 10
            found.append(trial(number, f"s{index:03d}", values=[value], scenario=levels))
    return found


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    return run_folder(tmp_path / "run", records())


def at(slope: str | None = None, **levels: str) -> Operand:
    return Operand("ping", "rtt_us", at={k: (v,) for k, v in levels.items()}, slope=slope)


def verdict_on(run: RunStore, **more: object) -> ClaimVerdict:
    claim = Claim(id="c", text="A claim.", source="own", **more)  # type: ignore[arg-type]
    return judge([claim], RoundValues(run), 0.05)[0]


def test_quantities(run: RunStore) -> None:
    """Estimates are those that the made-up trials have."""
    mean = verdict_on(run, of=at(topology="T1", length="2"), above=0.0)
    assert mean.estimate == pytest.approx(110, abs=0.2)
    pooled = verdict_on(run, of=at(topology="T1"), above=0.0)
    assert pooled.estimate == pytest.approx(107.5, abs=0.2)
    ratio = verdict_on(
        run, of=at(topology="T2", length="0"), to=at(topology="T1", length="0"), above=1.0
    )
    assert ratio.estimate == pytest.approx(1.1, abs=0.01)
    less = Operand("ping", "rtt_us", at={"length": ("3",)}, minus={"length": ("0",)})
    assert verdict_on(run, of=less, above=0.0).estimate == pytest.approx(15, abs=0.2)
    shares = [
        Operand("ping", "rtt_us", at={"length": (n,), "topology": ("T1",)}, over={"length": ("0",)})
        for n in ("1", "3")
    ]
    assert verdict_on(run, of=shares[1], above=1.0).estimate == pytest.approx(1.15, abs=0.01)
    assert verdict_on(run, order=tuple(shares)).verdict == "agrees"
    slope = verdict_on(run, of=at("length", topology="T1"), above=0.0)
    assert slope.estimate == pytest.approx(5, abs=0.1)
    assert slope.rounds == ROUNDS
    fit = verdict_on(run, of=at("length", topology="T1"), r_squared=True, above=0.9)
    assert fit.estimate == pytest.approx(1, abs=0.01)


def test_the_range_decides(run: RunStore) -> None:
    ratio = {"of": at(topology="T2", length="0"), "to": at(topology="T1", length="0")}
    assert verdict_on(run, **ratio, above=1.05, below=1.15).verdict == "agrees"
    assert verdict_on(run, **ratio, below=1.05).verdict == "contradicts"
    estimate = verdict_on(run, **ratio, above=1.05).estimate
    near = verdict_on(run, **ratio, above=estimate)
    assert near.verdict == "undecided"
    assert near.reason


def test_orders(run: RunStore) -> None:
    rising = tuple(at(topology="T1", length=str(n)) for n in range(4))
    assert verdict_on(run, order=rising).verdict == "agrees"
    swapped = (rising[1], rising[0], *rising[2:])
    assert verdict_on(run, order=swapped).verdict == "contradicts"
    least = verdict_on(run, order=rising).estimate
    assert least == pytest.approx(115 / 110, abs=0.01)


def test_the_interval_of_an_order_is_that_of_its_least_step() -> None:
    """Verdicts follow from it, whichever step the estimate is of."""
    steps = [OverRounds([n + spread for n in NOISE]) for spread in (0.9, 1.0, 3.0)]
    noisy = OverRounds([-0.5 + 20 * n for n in NOISE])
    low, high = Least(steps).interval(0.01)
    assert low == pytest.approx(min(step.interval(0.01)[0] for step in steps), abs=1e-5)
    assert high == pytest.approx(min(step.interval(0.01 / 3)[1] for step in steps), abs=1e-5)
    assert Least(steps).p_below(high + 1e-6) <= 0.01
    # The noisy step is the lowest, and says nothing; the other one is shown to be reversed.
    reversed_ = OverRounds([-0.4 + n / 10 for n in NOISE])
    assert Least([noisy, reversed_]).p_below(0.0) <= 0.01
    assert Least([noisy, reversed_]).interval(0.01)[1] < 0


def test_noise_does_not_contradict_a_line() -> None:
    """The R² of means is below that of the line behind them."""
    rng = np.random.default_rng(1)
    x = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    noisy = [
        RSquared(x, [[5 * value + rng.normal(0, 20) for value in x] for _ in range(12)])
        for _ in range(40)
    ]
    assert np.mean([fit.estimate for fit in noisy]) < 0.9
    assert sum(fit.p_below(0.95) <= 0.05 for fit in noisy) <= 2


def test_r_squared_of_what_does_not_vary() -> None:
    x = (1.0, 2.0, 3.0)
    line = RSquared(x, [[1e100 * value for value in x]] * 8)
    assert line.p_above(0.99) <= 0.01
    assert line.interval(0.01)[0] > 0.99
    flat = RSquared(x, [[7.0] * 3] * 8)
    assert flat.p_above(0.5) == flat.p_below(0.5) == 1


def test_a_round_counts_if_all_of_it_is_valid(tmp_path: Path) -> None:
    trials = [r for r in records() if not (r.round == 4 and r.scenario["length"] == 3)]
    run = run_folder(tmp_path / "run", trials)
    assert verdict_on(run, of=at("length"), above=0.0).rounds == ROUNDS - 1
    assert verdict_on(run, of=at(length="2"), above=0.0).rounds == ROUNDS


def test_few_rounds_decide_nothing(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", records(rounds=4))
    few = verdict_on(run, of=at(length="2"), above=0.0)
    assert (few.verdict, few.rounds, few.rounds_needed) == ("undecided", 4, 6)
    assert (few.low, few.high) == (None, None)
    single = run_folder(tmp_path / "single", records(rounds=1))
    assert verdict_on(single, of=at(length="2"), above=0.0).verdict == "undecided"


def test_more_claims_need_more_rounds(run: RunStore) -> None:
    """Claims without a verdict do not count."""
    one = Claim(id="c", text="A claim.", source="own", of=at(length="2"), above=0.0)
    others = [Claim(id=f"n{n}", text="x", source="own", not_tested="no") for n in range(40)]
    assert judge([one, *others], RoundValues(run), 0.05)[0].verdict == "agrees"
    assert {v.verdict for v in judge([one] * 41, RoundValues(run), 0.05)} == {"undecided"}


def test_what_was_not_measured_is_not_tested(run: RunStore) -> None:
    missing = verdict_on(run, of=at(length="9"), above=0.0)
    assert missing.verdict == "not tested"
    assert "9" in missing.reason
    other = Operand("ping", "loss_ratio")
    assert verdict_on(run, of=other, above=0.0).verdict == "not tested"
    assert verdict_on(run, not_tested="no switch").reason == "no switch"


def test_not_comparable_keeps_its_estimate(run: RunStore) -> None:
    found = verdict_on(run, of=at(length="0"), above=0.0, not_comparable="another switch")
    assert (found.verdict, found.reason) == ("not comparable", "another switch")
    assert found.estimate is not None and found.low is not None


def test_a_denominator_that_may_be_0_decides_nothing(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", records(growth=0.0))
    flat = verdict_on(run, of=at("length", topology="T2"), to=at("length", topology="T1"), above=1)
    assert flat.verdict == "undecided"
    assert "denominator" in flat.reason


@given(VALUES, st.sampled_from([0.025, 0.005]))
def test_intervals_contain_those_of_t_and_of_ranks(
    pairs: list[tuple[int, int]], alpha: float
) -> None:
    """Fieller's ratio in closed form, and scipy's tests at its ends."""
    a, b = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    inference = OverRounds(a, b)
    low, high = inference.interval(alpha)
    if len(a) < least_rounds(alpha):
        assert (low, high) == (-np.inf, np.inf)
        return
    t_low, t_high = fieller(np.array(a), np.array(b), alpha)
    assert low <= t_low + 1e-6
    assert high >= t_high - 1e-6
    for bound, side in ((low, "greater"), (high, "less")):
        differences = np.array(a) - bound * np.array(b)
        if np.ptp(differences):
            assert stats.ttest_1samp(differences, 0, alternative=side).pvalue <= alpha * 1.001


def fieller(a: np.ndarray, b: np.ndarray, alpha: float) -> tuple[float, float]:
    """Roots of the quadratic of Fieller's theorem, for paired values."""
    n = len(a)
    t2 = stats.t.ppf(1 - alpha, n - 1) ** 2
    (va, cov), (_, vb) = np.cov(a, b) / n
    ma, mb = a.mean(), b.mean()
    qa, qb, qc = mb**2 - t2 * vb, ma * mb - t2 * cov, ma**2 - t2 * va
    root = sqrt(max(qb**2 - qa * qc, 0.0))
    return (qb - root) / qa, (qb + root) / qa


@given(VALUES)
def test_the_p_is_at_least_scipys(pairs: list[tuple[int, int]]) -> None:
    differences = [float(x - y) for x, y in pairs]
    sizes = [abs(d) for d in differences]
    # scipy's exact ranks need distinct sizes; what resembles its predecessor is corrected.
    assume(0 not in sizes and len({*sizes}) == len(sizes))
    assume(stretch([differences]).factor == 1)
    t = stats.ttest_1samp(differences, 0, alternative="greater").pvalue
    ranks = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert OverRounds(differences).p_above(0.0) >= max(t, ranks) - 1e-9
    mirrored = [*differences, *(-d + 10 for d in differences)]
    assume(stretch([mirrored]).factor == 1)
    # What is symmetrical has no skewness to be corrected.
    t = stats.ttest_1samp(mirrored, 0, alternative="greater").pvalue
    ranks = SignedRank([0.0] * len(mirrored), mirrored).p_above(0.0)
    assert OverRounds(mirrored).p_above(0.0) == pytest.approx(max(t, ranks))


def test_least_rounds() -> None:
    assert least_rounds(0.025) == 6
    assert least_rounds(0.05 / 10 / 2) == 9


def test_skewness_makes_a_mean_that_seems_low_less_sure() -> None:
    skewed = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0]
    zeros = [0.0] * len(skewed)
    corrected, plain = SkewedT(zeros, skewed), stats.ttest_1samp
    assert corrected.p_below(5.0) > plain(skewed, 5.0, alternative="less").pvalue
    assert corrected.p_above(0.5) < plain(skewed, 0.5, alternative="greater").pvalue
