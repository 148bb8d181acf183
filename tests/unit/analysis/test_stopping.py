"""When a scenario needs no more rounds."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.analysis.statistics import Rules, estimate_of, median_interval
from sfcperf.analysis.stopping import stop_reason
from sfcperf.workflow.model import Design, StopWhen

RTT = ("ping", "rtt_us")
LOSS = ("iperf3-udp", "loss_ratio")


def design(rounds: int = 7, stop_when: StopWhen | None = None) -> Design:
    return Design(rounds, 1, "randomized-blocks", 1, 0.95, stop_when, 2)


ADAPTIVE = design(stop_when=StopWhen(relative_half_width=0.05, max_rounds=12))
TIGHT = [100.0, 100.1, 99.9, 100.2, 99.8, 100.3, 99.7]
WIDE = [100.0, 150.0, 50.0, 140.0, 60.0, 130.0, 70.0]


def test_planned_rounds_are_all_without_stop_when_or_a_metric_to_judge() -> None:
    assert stop_reason(design(), 2, {RTT: WIDE[:2]}) is None
    assert stop_reason(design(), 7, {RTT: WIDE}) == "planned rounds done"
    assert stop_reason(ADAPTIVE, 7, {}) == "planned rounds done"


@pytest.mark.parametrize(("max_rounds", "alpha"), [(12, 0.05 * 7 / (7 + 2.5)), (7, 0.05)])
def test_stops_at_the_half_width_for_repeated_looks(max_rounds: int, alpha: float) -> None:
    """A single look needs no wider interval."""
    planned = design(stop_when=StopWhen(relative_half_width=0.05, max_rounds=max_rounds))
    half_width = estimate_of(TIGHT, Rules(confidence=1 - alpha)).interval.half_width / 100
    said = f"half-width {half_width:.3g} <= 0.05 after 7 rounds"
    assert stop_reason(planned, 7, {RTT: TIGHT}) == said
    assert stop_reason(planned, 6, {RTT: TIGHT[:6]}) is None
    assert stop_reason(ADAPTIVE, 7, {LOSS: [0.0] * 7}) == "half-width 0 <= 0.05 after 7 rounds"


def test_too_few_valid_trials_go_on_until_there_are_enough() -> None:
    early = design(3, StopWhen(relative_half_width=0.05, max_rounds=12))
    assert stop_reason(early, 3, {RTT: TIGHT[:3]}) is None
    assert stop_reason(early, 6, {RTT: TIGHT[:6]}) is not None
    assert stop_reason(ADAPTIVE, 7, {RTT: TIGHT[:6]}) is None
    assert stop_reason(ADAPTIVE, 8, {RTT: TIGHT}) is not None


def test_the_declared_centre_decides() -> None:
    slow = [*TIGHT[:6], 300.0]
    assert stop_reason(ADAPTIVE, 7, {RTT: slow[::-1]}) is None  # its interval contains the slow one
    of_mean = replace(ADAPTIVE, centre="mean")
    assert stop_reason(of_mean, 7, {RTT: TIGHT}) is None  # needs 29 trials
    declared = replace(of_mean, rarest_mode=0.4)
    assert (stop_reason(declared, 7, {RTT: TIGHT}) or "").startswith("half-width")


def test_the_least_known_metric_decides() -> None:
    assert stop_reason(ADAPTIVE, 7, {RTT: TIGHT, LOSS: WIDE}) is None


def test_gives_up_at_max_rounds_and_names_the_metric() -> None:
    reason = stop_reason(ADAPTIVE, 12, {RTT: TIGHT, LOSS: WIDE})
    assert reason.startswith("max_rounds 12 reached at half-width ")
    assert reason.endswith(" (loss_ratio of iperf3-udp)")
    assert stop_reason(ADAPTIVE, 12, {RTT: TIGHT}).startswith("half-width")


@pytest.mark.parametrize("values", [[], [100.0], [-1.0, 1.0] * 5])
def test_a_metric_without_a_half_width_is_waited_for(values: list[float]) -> None:
    assert stop_reason(ADAPTIVE, 11, {RTT: TIGHT, LOSS: values}) is None
    assert (
        stop_reason(ADAPTIVE, 12, {RTT: TIGHT, LOSS: values})
        == "max_rounds 12 reached without a half-width (loss_ratio of iperf3-udp)"
    )


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), max_size=14), min_size=1, max_size=4),
    st.integers(1, 20),
)
def test_stops_at_the_latest_at_max_rounds_and_only_when_all_are_narrow(
    series: list[list[float]], rounds_done: int
) -> None:
    values: dict[Any, list[float]] = {
        ("probe", str(number)): numbers for number, numbers in enumerate(series)
    }
    reason = stop_reason(ADAPTIVE, rounds_done, values)
    if rounds_done < 7:
        assert reason is None
    elif reason is None:
        assert rounds_done < 12
    elif reason.startswith("half-width"):
        for numbers in series:
            if min(numbers) == max(numbers):
                continue
            interval = median_interval(numbers, 0.95)
            assert interval.half_width <= 0.05 * abs(median(numbers)) * (1 + 1e-6) + 1e-300
    else:
        assert rounds_done >= 12
