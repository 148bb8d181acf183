"""What the model of more cores computes, against arithmetic and scipy's interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfcperf.analysis.core_model import cores_for_link, line_rate_pps, modelled

LINK_BPS = 100e9
RATES = {1: [2.0e6, 2.1e6, 1.9e6, 2.0e6], 2: [3.9e6, 4.1e6, 3.8e6, 4.0e6]}


@pytest.mark.parametrize(("frame_bytes", "pps"), [(64, 148_809_523.8), (1518, 8_127_438.2)])
def test_a_link_carries_what_ieee_says(frame_bytes: int, pps: float) -> None:
    assert line_rate_pps(LINK_BPS, frame_bytes) == pytest.approx(pps)


def test_more_cores_take_as_much_each_as_the_most_measured() -> None:
    found = modelled(RATES, 8, frame_bytes=64, link_bps=LINK_BPS)
    logs = np.log(np.array(RATES[2]) / 2)
    low, high = stats.t.interval(0.95, 3, loc=logs.mean(), scale=stats.sem(logs))
    assert found.pps == pytest.approx(8 * np.exp(logs.mean()))
    assert (found.low_pps, found.high_pps) == pytest.approx((8 * np.exp(low), 8 * np.exp(high)))
    assert not found.of_link


def test_a_link_is_the_limit() -> None:
    found = modelled(RATES, 8, frame_bytes=1518, link_bps=LINK_BPS)
    assert found.of_link
    assert found.pps == found.high_pps == line_rate_pps(LINK_BPS, 1518)
    assert cores_for_link(RATES, frame_bytes=1518, link_bps=LINK_BPS) == 5
    assert cores_for_link(RATES, frame_bytes=64, link_bps=LINK_BPS) == 76
    with pytest.raises(ValueError, match="needs 3 trials of the most cores, and has 2"):
        modelled({2: [1e6, 2e6]}, 4, frame_bytes=64, link_bps=LINK_BPS)


@given(
    st.lists(st.floats(1e4, 1e8), min_size=3, max_size=12),
    st.integers(1, 1024),
    st.integers(64, 1518),
)
def test_the_interval_contains_the_rate(rates: list[float], cores: int, frame_bytes: int) -> None:
    found = modelled({2: rates}, cores, frame_bytes=frame_bytes, link_bps=LINK_BPS)
    assert 0 < found.low_pps <= found.pps <= found.high_pps
    assert found.high_pps <= line_rate_pps(LINK_BPS, frame_bytes)
