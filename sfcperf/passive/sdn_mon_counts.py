"""Turns what SDN-Mon has counted at a switch into telemetry and into rows of flows.parquet."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf.dataplane.sdnmon.switch import Entry, Table
from sfcperf.results import flows
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation

_CHANCE = 1 - 1e-6
"""Probability that the sampled share of the flows is between `sampled_ratio_low` and `_high`."""
_NS_PER_S = 1e9
_COUNTED_APART = ("received", "monitored")
"""Counters of a status for which `of_switch` has observations of its own."""
_COLUMNS = {
    "spi": "nsh_spi",
    "si": "nsh_si",
    "protocol": "ip_proto",
    "source_port": "tp_src",
    "destination_port": "tp_dst",
}
"""Column of flows.parquet -> match field of SDN-Mon that it has."""


def of_switch(
    time_ns: int,
    name: str,
    status: Mapping[str, Any],
    table: Table,
    parameters: Mapping[str, Any],
    elapsed_s: float,
) -> Iterator[Observation]:
    """Give the telemetry of a switch. `status` and `table` are those at the end of monitoring,
    which lasted `elapsed_s`; `parameters` are those of the monitor."""
    packets = status["packets"]
    counts = {
        "received_packets": packets["received"],
        **{f"{k}_packets": n for k, n in packets.items() if k not in _COUNTED_APART},
        "entries": status["entries"],
        "unlisted_flows": max(0, len(table.entries) - parameters["most_flows"]),
        "notifications": status["notifications"],
    }
    for metric, count in counts.items():
        yield Observation(time_ns, name, metric, "1", count)
    yield Observation(time_ns, name, "rx_pps", "1/s", packets["received"] / elapsed_s)
    yield from _monitored(name, table)
    if (there := parameters.get("flows")) is not None:
        yield from _sampled(time_ns, name, status["entries"], there, parameters["ratio"])


def _monitored(name: str, table: Table) -> Iterator[Observation]:
    """Give the monitored packets of all flows together in each window of the counter buffers."""
    of_window = [0] * len(table.windows)
    for entry in table.entries:
        for number, packets, _ in entry.windows:
            of_window[number] += packets
    for window, packets in zip(table.windows, of_window, strict=True):
        yield Observation(window.end_ns, name, flows.MONITORED_PACKETS, "1", packets)


def _sampled(
    time_ns: int, name: str, entries: int, there: int, ratio: float
) -> Iterator[Observation]:
    """Give the share of the flows that was sampled, and the limits between which it should be if
    each of `there` flows is sampled by itself with the probability `ratio` (binomial
    distribution)."""
    from scipy.stats import binom

    # With a ratio of 0 or 1, chance has no part: both limits are the exact number.
    low, high = binom.interval(_CHANCE, there, ratio) if 0 < ratio < 1 else (ratio * there,) * 2
    for suffix, count in (("", entries), ("_low", low), ("_high", high)):
        yield Observation(time_ns, name, f"sampled_ratio{suffix}", "1", float(count) / there)


def cpu_time(
    time_ns: int, used_s: Mapping[str, float], ports: Mapping[str, int]
) -> Iterator[Observation]:
    """Give the CPU time per packet of each switch and of the whole chain. `used_s` is the CPU time
    of each instance, `ports` the packets that the ports of each switch received. Without packets,
    there is no value."""
    costs = {name: (used_s[name], count) for name, count in ports.items() if name in used_s}
    costs["chain"] = (sum(used_s.values()), sum(ports.values()))
    for source, (cpu_s, count) in costs.items():
        if count:
            cost_ns = cpu_s / count * _NS_PER_S
            yield Observation(time_ns, source, "cpu_ns_per_packet", "ns", cost_ns)


def records(name: str, table: Table, most: int) -> Iterator[FlowRecord]:
    """Give the rows of flows.parquet of a switch: for each of the `most` flows with the most
    packets, a row for each window."""
    for entry in heapq.nlargest(most, table.entries, key=lambda entry: entry.packets):
        columns = _columns(entry)
        for number, packets, size_bytes in entry.windows:
            window = table.windows[number]
            yield FlowRecord(
                function=name,
                window_start_ns=window.start_ns,
                window_end_ns=window.end_ns,
                packets=packets,
                bytes=size_bytes,
                certainty="exact",
                **columns,
            )


def _columns(entry: Entry) -> dict[str, Any]:
    """Return the columns that identify a flow; None for fields that are not monitored or that the
    packets do not have."""
    flow = entry.flow
    return {
        **{column: flow.get(field) for column, field in _COLUMNS.items()},
        "source_address": flow.get("ipv4_src", flow.get("ipv6_src")),
        "destination_address": flow.get("ipv4_dst", flow.get("ipv6_dst")),
    }
