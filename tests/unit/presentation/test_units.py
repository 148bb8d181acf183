from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.presentation import units

SCALED_UNITS = ("us", "s", "bit/s", "1/s", "B")
VALUES = st.floats(1e-6, 1e12)


@pytest.mark.parametrize(
    ("value", "unit", "metric", "factor", "shown"),
    [
        (342.0, "us", "rtt_us", 1.0, "µs"), (5_600.0, "us", "rtt_us", 1e-3, "ms"),
        (0.25, "us", "rtt_us", 1e3, "ns"), (0.0, "us", "rtt_us", 1.0, "µs"),
        (2.5, "s", "response_s", 1.0, "s"), (0.004, "s", "response_s", 1e3, "ms"),
        (941e6, "bit/s", "rate_bps", 1e-6, "Mbit/s"), (2.06e9, "bit/s", "rate_bps", 1e-9, "Gbit/s"),
        (196_000.0, "1/s", "rate_pps", 1e-3, "k/s"), (830.0, "1/s", "replies_per_s", 1.0, "/s"),
        (40 * 2**20, "B", "memory_bytes", 2**-20, "MiB"), (0.002, "1", "loss_ratio", 100.0, "%"),
        (3.0, "1", "retransmits", 1.0, ""), (7.0, "W", "power_w", 1.0, "W"),
    ],
)  # fmt: skip
def test_scale(value: float, unit: str, metric: str, factor: float, shown: str) -> None:
    scale = units.scale_for([value], unit, metric)
    assert scale.unit == shown
    assert scale.factor == pytest.approx(factor)


@given(VALUES, st.sampled_from(SCALED_UNITS))
def test_scaled_values_are_easy_to_read(value: float, unit: str) -> None:
    smallest = {"us": 1e-3, "s": 1e-9}.get(unit, 1.0)
    largest = {"us": 1e9, "s": 1e3, "B": 2.0**40}.get(unit, 1e15)
    scaled = value * units.scale_for([value], unit).factor
    if smallest <= value < largest * 0.999:
        assert 0.999 <= scaled < 1024


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (174.27, 11.6, "174 ± 12"), (2.06213, 0.0571, "2.062 ± 0.057"),
        (9.3141, 1.312, "9.3 ± 1.3"), (12_345.0, 678.0, "12340 ± 680"),
        (0.0, 0.0, "0 ± 0"), (-0.004, 1.2, "0.0 ± 1.2"), (3.14159, None, "3.142"),
        (None, None, "–"), (float("nan"), 1.0, "–"), (float("inf"), None, "–"),
        (1.234567e-200, 2.3e-202, "1.235e-200 ± 2.3e-202"), (0.0, 4.2e-150, "0 ± 4.2e-150"),
        (9.87e98, 1.2e97, "9.87e+98 ± 1.2e+97"), (3e-320, None, "3.000e-320"),
    ],
)  # fmt: skip
def test_digits_follow_intervals(mean: float | None, half_width: float | None, text: str) -> None:
    assert units.estimate(mean, half_width) == text


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e6))
def test_rounding_stays_within_a_twentieth_of_the_half_width(mean: float, half: float) -> None:
    shown_mean, shown_half = units.estimate(mean, half).split(" ± ")
    decimals = [len(text.partition(".")[2]) for text in (shown_mean, shown_half)]
    assert decimals[0] == decimals[1]
    # Two digits of the half-width, six of the mean at most.
    step = max(half * 0.1, abs(mean) * 1e-5)
    assert math.isclose(float(shown_mean), mean, abs_tol=0.51 * step)
    assert math.isclose(float(shown_half), half, abs_tol=0.51 * step)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e300))
def test_no_number_is_longer_than_a_column(value: float, half: float) -> None:
    assert len(units.number(value, half)) <= 30


@pytest.mark.parametrize(
    ("factor", "unit", "metric", "shown"),
    [
        (1, "us", "rtt_us", "µs"), (0.001, "us", "rtt_us", "ms"),
        (1e-6, "bit/s", "rate_bps", "Mbit/s"), (100, "1", "loss_ratio", "%"),
        (1, "1", "loss_ratio", "1"), (1 / 1024, "B", "rss_bytes", "KiB"),
        (0.5, "us", "rtt_us", "us, times 0.5"),
    ],
)  # fmt: skip
def test_unit_of_scaled_values(factor: float, unit: str, metric: str, shown: str) -> None:
    assert units.scaled_unit(factor, unit, metric) == shown


def test_titles_of_metrics_and_counts_with_all_their_digits() -> None:
    titles = {"rtt_us": "rtt", "rate_bps": "rate", "rate_pps": "rate pps", "loss_ratio": "loss"}
    titles |= {"replies_per_s": "replies", "retransmits": "retransmits"}
    assert {metric: units.metric_title(metric) for metric in titles} == titles
    counts = {2.0: "2", 1234567.0: "1234567", 2.5: "2.500", 1e300: "1.000e+300", None: "–"}
    assert {n: units.scale_for([n or 0.0], "1").quantity(n) for n in counts} == counts
    assert units.scale_for([61.0], "us").quantity(61.0) == "61.00 µs"


@pytest.mark.parametrize(
    ("value", "key", "shown"),
    [
        (0.0008334319254380776, "steal_ratio", "0.00083343"), (0, "swap_used_bytes", "0"),
        (25276063744, "total_bytes", "23.54 GiB"), (True, "tso", "yes"), (False, "tso", "no"),
        (25276063744, "net.core.rmem_max", "25276063744"), ("1.50", "", "1.50"),
    ],
)  # fmt: skip
def test_entries_of_documents(value: object, key: str, shown: str) -> None:
    assert units.entry_text(value, key) == shown
