"""The monitor sdn-mon: its parameters, and what it makes of what sfc-sdnmon prints. The tool itself
is in tests/integration/passive/test_sdn_mon.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.records.scenarios import scenario

from sfcperf.dataplane.sdnmon.switch import MonitoredSwitch, Table, Window
from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.namespace import LocalHost
from sfcperf.management.observable import Observable
from sfcperf.passive import sdn_mon_counts
from sfcperf.passive.sdn_mon import SdnMonMonitor
from sfcperf.workflow.defaults import with_defaults

FLOW = {"ipv4_src": "10.0.0.1", "ipv4_dst": "10.0.0.2", "ip_proto": 17, "tp_src": 7, "tp_dst": 9}
SLOT_NS = 2_000_000_000


def _entry(packets: int, intervals: list[list[int]], **flow: Any) -> dict[str, Any]:
    known = {"packets": packets, "bytes": 60 * packets, "added": False, "sampled": True}
    return {"flow": {**FLOW, **flow}, **known, "intervals": intervals}


class Printed(LocalHost):
    """Where the tool prints these lines. A real one cannot be made to print a part."""

    def __init__(self, lines: Sequence[dict[str, Any]], status: int = 0) -> None:
        super().__init__(Path("/"))
        self._lines = lines
        self._status = status

    def run(self, argv: Sequence[str], **_: Any) -> CompletedCommand:
        said = "\n".join(map(json.dumps, self._lines)) if argv[3] == "entries" else ""
        error = b"sfc-sdnmon: eth0 is no port\n"
        return CompletedCommand(tuple(argv), self._status, said.encode(), error)


def _table(*lines: dict[str, Any], epoch: int = 2, oldest: int = 1) -> Table:
    head = {"event": "entries", "epoch": epoch, "oldest_epoch": oldest, "interval_ms": 2000}
    switch = MonitoredSwitch(Printed([head, *lines]), Path("/state"))
    switch.on([], ["eth0"])
    switch.detach()
    return switch.table()


def _end(entries: int) -> dict[str, Any]:
    return {"event": "end", "entries": entries}


def test_windows_are_slots() -> None:
    table = _table(_entry(5, [[2, 3, 180], [1, 2, 120]]), _end(1))
    (entry,) = table.entries
    assert entry.windows == ((0, 2, 120), (1, 3, 180))
    first, second = table.windows
    assert first.end_ns - first.start_ns == SLOT_NS
    assert first.end_ns == second.start_ns <= second.end_ns
    empty = _table(_end(0), epoch=1)
    assert empty.entries == ()
    assert [type(window) for window in empty.windows] == [Window]


def test_what_came_before_the_slots_is_a_window_of_its_own() -> None:
    table = _table(_entry(9, [[8, 3, 180]]), _entry(4, []), _end(2), epoch=8, oldest=7)
    assert [entry.windows for entry in table.entries] == [
        ((0, 6, 360), (2, 3, 180)),
        ((0, 4, 240),),
    ]
    assert len(table.windows) == 3
    assert table.windows[0].end_ns - table.windows[0].start_ns == 6 * SLOT_NS


@pytest.mark.parametrize("lines", [[], [_entry(1, [])], [_entry(1, []), _end(2)]])
def test_a_part_of_a_table_is_none(lines: list[dict[str, Any]]) -> None:
    with pytest.raises(MeasurementError, match="table"):
        _table(*lines)


def test_what_the_tool_says_is_told() -> None:
    switch = MonitoredSwitch(Printed([], 1), Path("/state"))
    with pytest.raises(MeasurementError, match="SDN-Mon on localhost: eth0 is no port"):
        switch.on([], ["eth0"])


def test_rows_of_the_largest_flows() -> None:
    lines = [_entry(n, [[1, n, 60 * n]], tp_src=n) for n in (3, 9, 5)]
    records = list(sdn_mon_counts.records("sff@node1", _table(*lines, _end(3), epoch=1), 2))
    assert [(r.source_port, r.packets, r.bytes) for r in records] == [(9, 9, 540), (5, 5, 300)]
    (first, _) = records
    assert (first.function, first.spi, first.si) == ("sff@node1", None, None)
    assert (first.source_address, first.protocol_name) == ("10.0.0.1", "udp")
    # Fields that are not monitored are empty.
    line = {**_entry(1, [[1, 1, 60]]), "flow": {"ipv6_src": "fd00::1", "nsh_spi": 4, "nsh_si": 3}}
    (record,) = sdn_mon_counts.records("sff@node1", _table(line, _end(1), epoch=1), 5)
    assert (record.source_address, record.destination_address) == ("fd00::1", None)
    assert (record.spi, record.si, record.source_port) == (4, 3, None)
    assert record.protocol_name is None


def test_telemetry_of_a_switch() -> None:
    table = _table(_entry(5, [[2, 3, 180], [1, 2, 120]]), _end(1))
    status = {
        "packets": {"received": 8, "monitored": 5, "unsampled": 3, "overflowed": 0},
        "entries": 1,
        "notifications": 2,
    }
    asked = with_defaults(SdnMonMonitor.parameters, {"ratio": 0.5, "flows": 2, "most_flows": 0})
    seen = list(sdn_mon_counts.of_switch(7, "sff@node1", status, table, asked, 4.0))
    found = {o.metric: o.value for o in seen if o.metric != "monitored_packets"}
    assert found == {
        "received_packets": 8, "unsampled_packets": 3, "overflowed_packets": 0, "entries": 1,
        "unlisted_flows": 1, "notifications": 2, "rx_pps": 2,
        "sampled_ratio": 0.5, "sampled_ratio_low": 0, "sampled_ratio_high": 1,
    }  # fmt: skip
    assert [o.value for o in seen if o.metric == "monitored_packets"] == [2, 3]


def _check(observable: Observable | None = None, **given: Any) -> None:
    asked = with_defaults(SdnMonMonitor.parameters, given)
    SdnMonMonitor.check_scenario(asked, scenario([]), lambda: observable)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"fields": ["ipv4_src", "colour"]}, "fields/1"),
        ({"fields": ["presence"]}, "fields/0"),
        ({"query_interval_ms": 49}, "query_interval_ms"),
        ({"capacity": 10, "limit": 11}, "limit"),
        ({"nodes": ["node9"]}, "nodes/0"),
    ],
)
def test_parameters_that_are_refused(given: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as refused:
        _check(**given)
    assert refused.value.where == where


def test_an_infrastructure_without_switches_is_refused() -> None:
    with pytest.raises(InputError, match="cannot monitor the switches"):
        _check(Observable())
    _check(Observable(switches=("node1",)))


def test_cpu_time_by_packets() -> None:
    used_s = {"client": 1.0, "server": 0.5, "sff@node1": 2.0}
    found = {o.source: o.value for o in sdn_mon_counts.cpu_time(7, used_s, {"sff@node1": 1000})}
    assert found == {"chain": 3_500_000, "sff@node1": 2_000_000}
    assert list(sdn_mon_counts.cpu_time(7, used_s, {"sff@node1": 0})) == []
