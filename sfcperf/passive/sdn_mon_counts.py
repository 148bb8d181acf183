"""What SDN-Mon has counted at a switch, as telemetry and as flows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf.dataplane.sdnmon.switch import Entry, Table
from sfcperf.results import flows
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation

_CHANCE = 1 - 1e-6
_NS_PER_S = 1e9
_COUNTED_APART = ("received", "monitored")
_COLUMNS = {
    "spi": "nsh_spi",
    "si": "nsh_si",
    "protocol": "ip_proto",
    "source_port": "tp_src",
    "destination_port": "tp_dst",
}
"""Column of flows.parquet -> match field."""


def of_switch(
    time_ns: int,
    name: str,
    status: Mapping[str, Any],
    table: Table,
    parameters: Mapping[str, Any],
    elapsed_s: float,
) -> Iterator[Observation]:
    """Telemetry of a switch: `status` and `table` as they were at the end, after `elapsed_s`."""
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
    of_window = [0] * len(table.windows)
    for entry in table.entries:
        for number, packets, _ in entry.windows:
            of_window[number] += packets
    for window, packets in zip(table.windows, of_window, strict=True):
        yield Observation(window.end_ns, name, flows.MONITORED_PACKETS, "1", packets)


def _sampled(
    time_ns: int, name: str, entries: int, there: int, ratio: float
) -> Iterator[Observation]:
    """The realised ratio, and where a binomial distribution has it."""
    from scipy.stats import binom

    low, high = binom.interval(_CHANCE, there, ratio) if 0 < ratio < 1 else (ratio * there,) * 2
    for metric, count in (("", entries), ("_low", low), ("_high", high)):
        yield Observation(time_ns, name, f"sampled_ratio{metric}", "1", float(count) / there)


def cpu_time(
    time_ns: int, used_s: Mapping[str, float], ports: Mapping[str, int]
) -> Iterator[Observation]:
    """CPU time by packets: `used_s` is by instance, `ports` what those of a switch received."""
    costs = {name: (used_s[name], count) for name, count in ports.items() if name in used_s}
    costs["chain"] = (sum(used_s.values()), sum(ports.values()))
    for source, (cpu_s, count) in costs.items():
        if count:
            cost_ns = cpu_s / count * _NS_PER_S
            yield Observation(time_ns, source, "cpu_ns_per_packet", "ns", cost_ns)


def records(name: str, table: Table, most: int) -> Iterator[FlowRecord]:
    """Rows of flows.parquet: of `most` flows, those with the most packets."""
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
    flow = entry.flow
    return {
        **{column: flow.get(field) for column, field in _COLUMNS.items()},
        "source_address": flow.get("ipv4_src", flow.get("ipv6_src")),
        "destination_address": flow.get("ipv4_dst", flow.get("ipv6_dst")),
    }
