"""When a scenario needs no more rounds."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.analysis.statistics import mean_interval
from sfcperf.analysis.stopping import stop_reason
from sfcperf.workflow.model import Design, StopWhen

RTT = ("ping", "rtt_us")
LOSS = ("iperf3-udp", "loss_ratio")


def design(rounds: int = 3, stop_when: StopWhen | None = None) -> Design:
    return Design(rounds, 1, "randomized-blocks", 1, 0.95, stop_when, 2)


ADAPTIVE = design(stop_when=StopWhen(relative_half_width=0.05, max_rounds=6))
TIGHT = [100.0, 100.1, 99.9]
WIDE = [100.0, 150.0, 50.0]


def test_planned_rounds_are_all_without_stop_when() -> None:
    assert stop_reason(design(), 2, {RTT: WIDE[:2]}) is None
    assert stop_reason(design(), 3, {RTT: WIDE}) == "planned rounds done"


def test_stops_when_narrow_enough_and_not_before_the_planned_rounds() -> None:
    assert stop_reason(ADAPTIVE, 2, {RTT: TIGHT[:2]}) is None
    assert stop_reason(ADAPTIVE, 3, {RTT: TIGHT}) == "half-width 0.00342 <= 0.05 after 3 rounds"


def test_the_half_width_is_that_of_the_interval_for_repeated_looks() -> None:
    """alpha * m / (m + 2.5) with m = 3: 0.0273 instead of 0.05; scipy as judge of t."""
    t = scipy.stats.t.ppf(1 - 0.05 * 3 / 5.5 / 2, 2)
    half_width = t * scipy.stats.sem(TIGHT) / 100
    reason = stop_reason(ADAPTIVE, 3, {RTT: TIGHT})
    assert reason == f"half-width {half_width:.3g} <= 0.05 after 3 rounds"


def test_a_single_look_needs_no_wider_interval() -> None:
    once = design(stop_when=StopWhen(relative_half_width=0.05, max_rounds=3))
    assert stop_reason(once, 3, {RTT: TIGHT}) == "half-width 0.00248 <= 0.05 after 3 rounds"


def test_the_least_known_metric_decides() -> None:
    assert stop_reason(ADAPTIVE, 3, {RTT: TIGHT, LOSS: WIDE}) is None


def test_gives_up_at_max_rounds_and_names_the_metric() -> None:
    reason = stop_reason(ADAPTIVE, 6, {RTT: TIGHT * 2, LOSS: WIDE * 2})
    assert reason == "max_rounds 6 reached at half-width 0.563 (loss_ratio of iperf3-udp)"


def test_narrow_at_max_rounds_is_narrow() -> None:
    assert (stop_reason(ADAPTIVE, 6, {RTT: TIGHT * 2}) or "").startswith("half-width")


@pytest.mark.parametrize("values", [[], [100.0], [-1.0, 1.0]])
def test_a_metric_without_a_half_width_is_waited_for(values: list[float]) -> None:
    assert stop_reason(ADAPTIVE, 5, {RTT: TIGHT, LOSS: values}) is None
    assert (
        stop_reason(ADAPTIVE, 6, {RTT: TIGHT, LOSS: values})
        == "max_rounds 6 reached without a half-width (loss_ratio of iperf3-udp)"
    )


def test_constant_zero_is_known() -> None:
    assert stop_reason(ADAPTIVE, 3, {LOSS: [0.0] * 3}) == "half-width 0 <= 0.05 after 3 rounds"


def test_nothing_to_judge_stops_after_the_planned_rounds() -> None:
    assert stop_reason(ADAPTIVE, 3, {}) == "planned rounds done"


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), max_size=8), min_size=1, max_size=4),
    st.integers(1, 10),
)
def test_stops_at_the_latest_at_max_rounds_and_only_when_all_are_narrow(
    series: list[list[float]], rounds_done: int
) -> None:
    values: dict[Any, list[float]] = {
        ("probe", str(number)): numbers for number, numbers in enumerate(series)
    }
    reason = stop_reason(ADAPTIVE, rounds_done, values)
    if rounds_done < 3:
        assert reason is None
    elif reason is None:
        assert rounds_done < 6
    elif reason.startswith("half-width"):
        for numbers in series:
            interval = mean_interval(numbers, 0.95)
            assert interval is not None
            centre = abs(sum(numbers) / len(numbers))
            assert interval.half_width <= 0.05 * centre * (1 + 1e-6) + 1e-300
    else:
        assert rounds_done >= 6


def test_fewer_valid_trials_than_planned_rounds_are_too_few_to_look_at() -> None:
    values = [100.0, 100.1, 99.9, 100.0]
    looked = design(5, StopWhen(relative_half_width=0.05, max_rounds=20))
    assert stop_reason(looked, 5, {RTT: values}) is None
    assert stop_reason(looked, 6, {RTT: [*values, 100.0]}) is not None
