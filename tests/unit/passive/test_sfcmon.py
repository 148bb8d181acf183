"""The monitor sfcmon, with functions that were not deployed; real ones are in
tests/integration/passive/test_sfcmon_chain.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.pptmon.chain import chain, function

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import FlowWindow
from sfcperf.passive.sfcmon import SfcmonMonitor
from sfcperf.results.flows import FlowCount
from sfcperf.workflow.defaults import with_defaults

FUNCTIONS = with_defaults(SfcmonMonitor.parameters, {})
FLOW = FlowCount(
    spi=1, si=254, source_address="10.0.0.1", destination_address="10.0.0.2", protocol=17,
    source_port=1000, destination_port=80, packets=30, bytes=3000, certainty="exact",
)  # fmt: skip


def window(number: int, *flows: FlowCount) -> FlowWindow:
    return FlowWindow(
        start_ns=number * 100, end_ns=number * 100 + 99, packets=50, unparsed={"not_ip": 2},
        flows=flows, missing_flows=1, missing_packets=4, residual_cells=0, threshold_packets=10,
    )  # fmt: skip


class Reporter:
    """Has ended these windows, call by call."""

    def __init__(self, *calls: list[FlowWindow]) -> None:
        self._calls = list(calls)
        self.begun = 0

    def begin_window(self) -> None:
        self.begun += 1

    def end_window(self) -> list[FlowWindow]:
        assert self.begun == 1
        return self._calls.pop(0)


def test_windows_of_the_trial_alone_are_reported(tmp_path: Path) -> None:
    first = Reporter([window(1, FLOW), window(3, FLOW, replace(FLOW, si=253))])
    second = Reporter([window(2)])
    functions = [
        replace(function(1, "sfcmon"), flows=first),
        function(2),
        replace(function(3, "sfcmon"), flows=second),
    ]
    monitor = SfcmonMonitor(FUNCTIONS)
    monitor.start(chain(functions), tmp_path)
    *observed, own = monitor.stop()
    assert (own.source, own.metric, own.unit) == ("sfcmon", "monitor_cpu_s", "s")
    assert [o.time_ns for o in observed] == sorted(o.time_ns for o in observed)
    found = {(o.time_ns, o.source, o.metric): o.value for o in observed}
    assert len(found) == len(observed) == 3 * 7
    for end_ns, source, flows in ((199, "sfcmon-1", 1), (399, "sfcmon-1", 2), (299, "sfcmon-3", 0)):
        assert {m: v for (t, s, m), v in found.items() if (t, s) == (end_ns, source)} == {
            "monitored_packets": 50, "flows": flows, "missing_flows": 1, "missing_packets": 4,
            "residual_cells": 0, "threshold": 10, "unparsed_not_ip": 2,
        }  # fmt: skip
    assert [(f.function, f.window_start_ns, f.window_end_ns, f.si) for f in monitor.flows()] == [
        ("sfcmon-1", 100, 199, 254),
        ("sfcmon-1", 300, 399, 254),
        ("sfcmon-1", 300, 399, 253),
    ]
    assert {(f.packets, f.bytes, f.certainty) for f in monitor.flows()} == {(30, 3000, "exact")}


def test_a_chain_without_such_functions_is_refused_unless_it_is_a_baseline(tmp_path: Path) -> None:
    """A chain of length 0 is that of others, which have the same monitors; so is one whose function
    does not monitor."""
    with pytest.raises(MeasurementError, match="no function of this chain lists flows"):
        SfcmonMonitor(FUNCTIONS).start(chain([function(1)]), tmp_path)
    for functions in ([], [function(1, "sfcmon")]):
        monitor = SfcmonMonitor(FUNCTIONS)
        monitor.start(chain(functions), tmp_path)
        assert [o.metric for o in monitor.stop()] == ["monitor_cpu_s"]
        assert monitor.flows() == []


def test_a_number_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    reporter = Reporter([replace(window(1, FLOW), missing_flows=None)])
    monitor = SfcmonMonitor(FUNCTIONS)
    monitor.start(chain([replace(function(1, "sfcmon"), flows=reporter)]), tmp_path)
    found = {observation.metric: observation.value for observation in monitor.stop()}
    assert "missing_flows" not in found
    assert found["missing_packets"] == 4
