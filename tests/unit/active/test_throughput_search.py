"""Searches against systems whose throughput is known."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.simulated_system import Simulation, System
from support.tiers import examples

from sfcperf.active.load import Load
from sfcperf.active.ndr.throughput_search import SearchResult, Settings, offered, search
from sfcperf.results.searches import GoalResult

NDR, PDR = ("ndr", 0.0), ("pdr", 0.005)
USUAL = Settings((NDR, PDR), 0.5, 0.005, 1, 1, 21, 1000, 1e8, 900)
RFC_2544 = replace(
    USUAL, loss_ratios=(NDR,), exceed_ratio=0, trial_duration_s=60, duration_sum_s=60
)
PROMISED = 0.95


def found(
    system: System, settings: Settings = USUAL, seed: int = 1
) -> tuple[SearchResult, Simulation]:
    simulation = Simulation(system, Random(seed))
    return search(settings, simulation.offer, simulation.clock), simulation


def goals(system: System, settings: Settings = USUAL) -> tuple[GoalResult, ...]:
    return found(system, settings)[0].goals


# Systems without noise: the throughput is one number, and is always within the bounds.


@given(
    capacity=st.floats(2e3, 5e7),
    width=st.floats(0.001, 0.2),
    trials=st.integers(1, 30),
    exceed=st.floats(0, 0.9),
    loss=st.floats(0.001, 0.4),
)
@example(capacity=2000, width=0.125, trials=27, exceed=1 / 3, loss=0.25)
@examples(200)
def test_without_noise_the_truth_is_within_the_bounds(
    capacity: float, width: float, trials: int, exceed: float, loss: float
) -> None:
    settings = replace(
        USUAL,
        loss_ratios=(NDR, ("pdr", loss)),
        relative_width=width,
        exceed_ratio=exceed,
        duration_sum_s=trials,
    )
    result, simulation = found(System(capacity), settings)
    for goal in result.goals:
        assert goal.irregular == "" and goal.upper_limit == "chain"
        truth = capacity / (1 - goal.loss_ratio)
        assert goal.lower_pps <= truth + 1 and truth - 1 <= goal.upper_pps  # whole packets
        assert (goal.upper_pps - goal.lower_pps) / goal.upper_pps <= width * (1 + 1e-9)
        # What the chain delivers there, of which an upper bound is the capacity.
        assert goal.lower_pps * (1 - goal.loss_ratio) <= goal.throughput_pps + 1
        assert goal.throughput_pps <= capacity + 1
    assert all(1000 <= load.rate_pps <= 1e8 for load in simulation.loads)
    assert len(simulation.loads) == len(result.offered)


def test_as_rfc_2544_asks() -> None:
    """One trial of 60 s without loss; shorter ones only lead there."""
    result, simulation = found(System(12_345), RFC_2544)
    assert result.goals[0].irregular == ""
    at_bound = [load for load in simulation.loads if load.rate_pps == result.goals[0].lower_pps]
    assert max(load.duration_s for load in at_bound) == 60
    assert all(load.lost == 0 for load in at_bound)


# Systems with noise: near the truth, it is chance whether a load is carried.


@dataclass(frozen=True)
class Case:
    name: str
    settings: Settings
    noise: float
    burst_probability: float = 0.0
    certain: bool = False
    """Whether noise is so much less than the width that the truth itself must be within."""

    def system(self, random: Random) -> System:
        capacity = 10 ** random.uniform(4.5, 7)
        return System(capacity, self.noise, self.burst_probability, random.uniform(0.001, 0.1))

    def __str__(self) -> str:
        return self.name


WIDE = replace(USUAL, relative_width=0.02)
FEW = replace(USUAL, duration_sum_s=5)
CASES = [
    Case("bursts", USUAL, 0, 0.2, certain=True),
    Case("noise of a tenth of a larger width, and bursts", WIDE, 0.002, 0.2),
    Case("noise as large as the width", USUAL, 0.005),
    Case("noise of a tenth of the width", USUAL, 0.0005, certain=True),
    Case("noise of a fifth of the width, and bursts", USUAL, 0.001, 0.2),
    Case("noise as large as the width, and bursts", USUAL, 0.005, 0.2),
    Case("noise of four times the width", USUAL, 0.02),
    Case("noise of twice the width, few trials", FEW, 0.01),
]


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("runs", [40, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_with_noise_bounds_hold_as_often_as_promised(case: Case, runs: int) -> None:
    held = dict.fromkeys(("ndr", "pdr"), 0)
    for seed in range(runs):
        random = Random(seed)
        system = case.system(random)
        simulation = Simulation(system, random)
        # Bursts can keep a search busy for long: not the subject of this test.
        settings = replace(case.settings, max_search_s=1e6)
        for goal in search(settings, simulation.offer, simulation.clock).goals:
            assert goal.irregular == ""
            held[goal.name] += _holds(goal, system, case)
    assert min(held.values()) >= PROMISED * runs, held


def _holds(goal: GoalResult, system: System, case: Case) -> bool:
    """Whether the bounds contain the truth; with much noise, a load that the goal's own number of
    trials cannot tell from it."""
    exceed, trials = case.settings.exceed_ratio, round(case.settings.duration_sum_s)
    assert (goal.upper_pps - goal.lower_pps) / goal.upper_pps <= goal.relative_width * (1 + 1e-9)
    if case.certain:
        low = high = system.truth(goal.loss_ratio, exceed)
    else:
        low, high = system.undecidable(goal.loss_ratio, exceed, trials)
    return goal.lower_pps <= high + 1 and low - 1 <= goal.upper_pps


@given(
    share=st.integers(1, 30).flatmap(
        lambda trials: st.tuples(st.integers(0, trials - 1), st.just(trials))
    ),
    seed=st.integers(0, 1000),
)
@example(share=(9, 27), seed=1)
@examples(200)
def test_bad_trials_that_may_be_lower_no_throughput(share: tuple[int, int], seed: int) -> None:
    """RFC 9971, "Conditional Throughput": their loss ratios come after the quantile, even if there
    are exactly as many of them as may be."""
    bad, trials = share
    settings = replace(USUAL, exceed_ratio=bad / trials, duration_sum_s=trials, relative_width=0.1)
    result, _ = found(System(10_000, burst_probability=0.8 * bad / trials), settings, seed)
    for goal in result.goals:
        if goal.lower_pps is not None:
            least_pps = goal.lower_pps * (1 - goal.loss_ratio)
            assert least_pps <= goal.throughput_pps <= goal.lower_pps


# Irregular results.


def test_a_slow_sender_leaves_the_upper_side_open() -> None:
    for goal in goals(System(50_000, sender_pps=9_999)):
        assert goal.upper_pps is None and goal.upper_limit == "endpoints"
        assert goal.lower_pps == pytest.approx(9_999, rel=USUAL.relative_width)
        assert "the sender reached 9999 of" in goal.irregular


@pytest.mark.parametrize("noise", [0.0, 0.002])
def test_a_chain_that_holds_the_sender_back_is_the_limit(noise: float) -> None:
    """Nothing is ever lost of what was sent."""
    for goal in goals(System(50_000, noise, holds_back=True)):
        assert (goal.irregular, goal.upper_limit) == ("", "chain")
        # A sender may be slower than asked for by half of the width.
        width = USUAL.relative_width
        assert goal.lower_pps <= 50_000 * (1 + width / 2 + 3 * noise) * 1.005
        assert goal.upper_pps >= 50_000 * (1 - 3 * noise)


def test_what_was_withheld_counts_as_lost() -> None:
    load = Load(1000, 600, 590, 1.0, withheld=400)
    entry = offered(load, 1.0, 0.01)
    assert (entry.withheld, entry.loss_ratio, entry.limited) == (400, 0.41, "")
    nearly = Load(1000, 998, 998, 1.0, withheld=2)
    assert (offered(nearly, 1.0, 0.01).withheld, offered(nearly, 1.0, 0.01).loss_ratio) == (0, 0)


def test_a_sender_that_is_slower_than_the_pdr_only() -> None:
    """The chain loses packets at 10,000 per second, 0.5 % of them at 10,050."""
    ndr, pdr = goals(System(10_000, sender_pps=10_045))
    assert (ndr.irregular, ndr.upper_limit) == ("", "chain")
    assert (pdr.upper_pps, pdr.upper_limit) == (None, "endpoints")


def test_a_chain_beyond_the_loads_that_may_be_offered() -> None:
    for goal in goals(System(1e9)):
        assert (goal.lower_pps, goal.upper_pps, goal.upper_limit) == (1e8, None, "max_load")
        assert goal.irregular.startswith("max_load_pps")
    for goal in goals(System(100)):
        assert (goal.lower_pps, goal.throughput_pps, goal.upper_pps) == (None, None, 1000)
        assert goal.irregular.startswith("min_load_pps")


def test_a_chain_that_loses_bursts_in_most_trials() -> None:
    """At no load are there fewer than half of the trials with a loss."""
    ndr, _ = goals(System(10_000, burst_probability=0.9, burst_ratio=0.001))
    assert ndr.throughput_pps is None


@pytest.mark.parametrize("most_s", [0, 1, 3, 9, 30, 57])
def test_a_search_whose_time_is_over_says_what_it_knows(most_s: int) -> None:
    result, simulation = found(System(12_345), replace(USUAL, max_search_s=most_s))
    assert simulation.now_s <= most_s
    for goal in result.goals:
        assert goal.lower_pps is None or goal.lower_pps <= 12_345 / (1 - goal.loss_ratio) + 1
        assert goal.upper_pps is None or goal.upper_pps >= 12_345 / (1 - goal.loss_ratio) - 1
        known = goal.lower_pps is not None and goal.upper_pps is not None
        narrow = known and goal.upper_pps - goal.lower_pps <= 0.005 * goal.upper_pps + 1e-6
        assert (goal.irregular == "") is narrow
        assert narrow or f"the time of {most_s} s was over" in goal.irregular


# What the endpoints do is not held against the chain.


def with_hiccups(system: System, every: int) -> tuple[Callable[[float, float], Load], list[Load]]:
    """The sender sends only half in every so manieth load."""
    simulation = Simulation(system, Random(1))
    loads: list[Load] = []

    def offer(rate_pps: float, duration_s: float) -> Load:
        load = simulation.offer(rate_pps, duration_s)
        if len(loads) % every == every - 1:
            half = simulation.offer(rate_pps / 2, duration_s)
            load = replace(half, rate_pps=rate_pps)
        loads.append(load)
        return load

    return offer, loads


def test_a_load_in_which_the_sender_was_slow_by_chance_is_offered_again() -> None:
    offer, loads = with_hiccups(System(12_345), 4)
    result = search(USUAL, offer)
    assert [goal.irregular for goal in result.goals] == ["", ""]
    assert len(loads) > len(result.offered)


def test_losses_of_the_endpoints_leave_the_upper_side_open() -> None:
    def offer(rate_pps: float, duration_s: float) -> Load:
        sent = round(min(rate_pps, 5000) * duration_s)
        limit = "the sender itself lost datagrams" if rate_pps > 5000 else ""
        return Load(rate_pps, sent, sent, duration_s, limit)

    for goal in search(USUAL, offer).goals:
        assert (goal.upper_pps, goal.upper_limit) == (None, "endpoints")
        assert "the sender itself lost datagrams" in goal.irregular


def test_a_chain_that_loses_too_much_of_what_a_slow_sender_sends_is_the_limit() -> None:
    """The sender is at 90 % of what it should send, always; the chain carries 10,000."""

    def offer(rate_pps: float, duration_s: float) -> Load:
        sent = round(min(rate_pps, 11_000) * duration_s)
        return Load(rate_pps, sent, min(sent, int(10_000 * duration_s)), duration_s)

    for goal in search(USUAL, offer).goals:
        assert (goal.irregular, goal.upper_limit) == ("", "chain")
