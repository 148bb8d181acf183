"""A running engine of SFCMon: its counters, and the flows of its windows."""

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
    """An sfc-sfcmon process, or one that prints the same, with its stats file and the file of its
    windows."""

    binary = BINARY
    windows: PrintedWindows | None
    """Reads the windows that the process prints; None: nothing monitors."""

    def counters(self) -> Mapping[str, int]:
        """NSH packets since the start, now: `received`, `forwarded`, `dropped`, `dropped_REASON`;
        `passed` are frames left to the kernel. Raises MeasurementError."""
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
        """Start sfc-sfcmon; `wait_ready` says when it works. `sizes`: None if nothing monitors.
        Raises DeploymentError, EnvironmentLacks."""
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
    """Make a FlowWindow of a window that sfc-sfcmon printed. `sizes` are those of its sketches; a
    window of a table does not need them."""
    fields = _of_table(printed) if "flows" in printed else _of_sketches(printed, sizes)
    return FlowWindow(
        start_ns=printed["start_ns"],
        end_ns=printed["end_ns"],
        packets=int(printed["packets"]),
        unparsed={
            reason.name.lower(): count
            for reason, count in zip(Reason, printed["unparsed"], strict=True)
        },
        **fields,
    )


def _of_sketches(printed: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    """Return further fields of a FlowWindow, from a window of sketches: flows are listed out of its
    IBLT."""
    cells = Cells.empty(sizes.iblt_cells)
    for place, count, key_sum, *sums in printed["iblt"]:
        cells.set(place, (count, int(key_sum, 16), *sums))
    packets, thresholds = int(printed["packets"]), printed["thresholds"]
    # The number of packets stays at its maximum, but a flow's own counters go on and wrap.
    listed = listing(sizes.iblt, cells, unpadded, may_have_wrapped=packets == MOST_PACKETS)
    return {
        "flows": tuple(map(_flow_count, listed.flows)),
        "missing_flows": listed.missing_flows,
        "missing_packets": listed.missing_packets,
        "residual_cells": listed.residual_cells,
        # A source is heavy when it meets both thresholds. `share` is in units of 2^-32, and is
        # rounded up to packets.
        "threshold_packets": max(
            thresholds["packets"], -(-thresholds["share"] * packets // (1 << 32))
        ),
    }


def _of_table(printed: Mapping[str, Any]) -> dict[str, Any]:
    """Return further fields of a FlowWindow, from a window of a table. `untracked` packets found no
    room in the table, and nobody knows of how many flows they are: then `missing_flows` is None. A
    table lists every flow in it, and has no false positives: thresholds and residual are 0."""
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
    """Return a FlowID2 from the hexadecimal digits that the tool prints: those of the key field, in
    which zeros follow it."""
    key = unpadded(bytes.fromhex(digits))
    assert key is not None, "the tool prints keys alone"
    return key


def _flow_count(listed: ListedFlow) -> FlowCount:
    """Return a listed flow with the fields of its key."""
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
