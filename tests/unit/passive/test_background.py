"""Background traffic that would not be there in time is refused before a run."""

from typing import Any

import pytest
from support.records.scenarios import scenario

from sfcperf.errors import InputError
from sfcperf.passive.background import BackgroundMonitor
from sfcperf.workflow.defaults import with_defaults


def _check(**given: Any) -> None:
    asked = with_defaults(BackgroundMonitor.parameters, given)
    BackgroundMonitor.check_scenario(asked, scenario([]), lambda: None)


def test_flows_that_take_a_minute_to_send_a_packet_each() -> None:
    _check(flows=6000, rate_pps=100)


def test_flows_that_take_longer() -> None:
    with pytest.raises(InputError) as error:
        _check(flows=15_900, rate_pps=1)
    assert error.value.where == "rate_pps"
    assert error.value.allowed == "at least 265 with so many flows"
