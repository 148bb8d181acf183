"""Runs an engine of SFCMon: reads its counters, and the flows of its windows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from sfcperf.dataplane.nsh.frame import Reason
from sfcperf.dataplane.nsh.packet import Flow, unpadded
from sfcperf.dataplane.printed_windows import PrintedWindows
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import FlowReporter, FlowWindow
from sfcperf.results.flows import FlowCount
from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import Certainty, ListedFlow, listing
from sfcperf.vnfs.base import RunningFunction
from sfcperf.vnfs.sfcmon.settings import MOST_PACKETS, Sizes

BINARY = "sfc-sfcmon"


class RunningSfcmon(StatsProcess, RunningFunction):
    """An sfc-sfcmon process, or another one that prints the same, with its stats file and the
    file of its windows."""

    binary = BINARY
    windows: PrintedWindows | None
    """Reads the windows; None if nothing monitors."""

    def counters(self) -> Mapping[str, int]:
        """Return NSH packets since the start, until now: `received`, `forwarded`, `dropped`,
        `dropped_REASON`; `passed` are frames left to the kernel. Raises MeasurementError."""
        event = self.fresh()
        counters = {name: event[name] for name in ("received", "forwarded", "dropped", "passed")}
        return counters | {f"dropped_{reason}": n for reason, n in event["drops"].items()}

    def flows(self) -> FlowReporter | None:
        """Return the reporter of the windows that the process prints; None if nothing monitors."""
        return self.windows

    @classmethod
    def launch(
        cls, name: str, host: Host, options: list[str], sizes: Sizes | None, output: Path
    ) -> Self:
        """Start the process; `wait_ready` says when it works. `sizes`: those of the sketches;
        None if nothing monitors. Raises EnvironmentLacks."""
        running = cls.spawn(name, host, options, output)
        running.windows = (
            None
            if sizes is None
            else PrintedWindows(
                running._process, output, cls.binary, partial(flow_window, sizes=sizes)
            )
        )
        return running


def flow_window(printed: Mapping[str, Any], sizes: Sizes) -> FlowWindow:
    """Return the flows of a window that sfc-sfcmon has printed. `sizes`: those of its sketches."""
    what = _of_table(printed) if "flows" in printed else _of_sketches(printed, sizes)
    return FlowWindow(
        start_ns=printed["start_ns"],
        end_ns=printed["end_ns"],
        packets=int(printed["packets"]),
        unparsed={
            reason.name.lower(): count
            for reason, count in zip(Reason, printed["unparsed"], strict=True)
        },
        **what,
    )


def _of_sketches(printed: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    cells = Cells.empty(sizes.iblt_cells)
    for place, count, key_sum, *sums in printed["iblt"]:
        cells.set(place, (count, int(key_sum, 16), *sums))
    packets, thresholds = int(printed["packets"]), printed["thresholds"]
    found = listing(sizes.iblt, cells, unpadded, may_have_wrapped=packets == MOST_PACKETS)
    return {
        "flows": tuple(map(_flow_count, found.flows)),
        "missing_flows": found.missing_flows,
        "missing_packets": found.missing_packets,
        "residual_cells": found.residual_cells,
        # This is the least estimate whose share of the packets is enough.
        "threshold_packets": max(
            thresholds["packets"], -(-thresholds["share"] * packets // (1 << 32))
        ),
    }


def _of_table(printed: Mapping[str, Any]) -> dict[str, Any]:
    untracked = int(printed["untracked"])
    listed = (
        ListedFlow(_key(key), packets, size, Certainty.EXACT)
        for key, packets, size in printed["flows"]
    )
    return {
        "flows": tuple(map(_flow_count, listed)),
        "missing_flows": None if untracked else 0,
        "missing_packets": untracked,
        "residual_cells": 0,
        "threshold_packets": 0,
    }


def _key(digits: str) -> bytes:
    """Return the FlowID2 in a field that the tool prints, in which zeros follow it."""
    key = unpadded(bytes.fromhex(digits))
    assert key is not None, "the tool prints keys alone"
    return key


def _flow_count(listed: ListedFlow) -> FlowCount:
    flow = Flow.of_key(listed.key)
    return FlowCount(
        spi=flow.spi,
        si=flow.si,
        source_address=str(flow.src),
        destination_address=str(flow.dst),
        protocol=flow.proto,
        source_port=flow.src_port,
        destination_port=flow.dst_port,
        packets=listed.packets,
        bytes=listed.bytes,
        certainty=listed.certainty,
    )
