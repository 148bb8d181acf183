"""A running engine of SFCMon: its counters, and the flows of its windows."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.management.deployment import FlowReporter, FlowWindow
from sfcperf.results.flows import FlowCount
from sfcperf.sketches.iblt import Cells
from sfcperf.sketches.listing import Certainty, ListedFlow, listing
from sfcperf.vnfs.sfcmon.frame import Reason
from sfcperf.vnfs.sfcmon.packet import Flow, unpadded
from sfcperf.vnfs.sfcmon.settings import MOST_PACKETS, Sizes
from sfcperf.vnfs.stats_process import StatsProcess

BINARY = "sfc-sfcmon"
WINDOW_TIMEOUT_S = 10.0
_POLL_S = 0.001


class RunningSfcmon(StatsProcess):
    """An sfc-sfcmon process, or one that prints the same, its stats file and the file of its
    windows."""

    binary = BINARY
    windows: Windows | None
    """None: nothing monitors."""

    def counters(self) -> Mapping[str, int]:
        """NSH packets since the start, now: `received`, `forwarded`, `dropped`, `dropped_REASON`;
        `passed` are frames left to the kernel. Raises MeasurementError."""
        event = self.fresh()
        counters = {name: event[name] for name in ("received", "forwarded", "dropped", "passed")}
        return counters | {f"dropped_{reason}": n for reason, n in event["drops"].items()}

    def flows(self) -> FlowReporter | None:
        """See RunningFunction.flows."""
        return self.windows

    @classmethod
    def launch(
        cls, name: str, host: Host, options: list[str], sizes: Sizes | None, output: Path
    ) -> Self:
        """Start it; `wait_ready` says when it works. `sizes`: None if nothing monitors. Raises
        EnvironmentLacks."""
        running = cls.spawn(name, host, options, output)
        running.windows = (
            None if sizes is None else Windows(running._process, sizes, output, cls.binary)
        )
        return running


class Windows:
    """The windows that a process prints (FlowReporter)."""

    def __init__(self, process: Process, sizes: Sizes, output: Path, name: str = BINARY) -> None:
        """`name`: what errors call the process."""
        self._process = process
        self._name = name
        self._sizes = sizes
        self._output = output
        self._read_bytes = 0

    def begin_window(self) -> None:
        """See FlowReporter.begin_window. Nothing is decoded."""
        self._end()

    def end_window(self) -> list[FlowWindow]:
        """See FlowReporter.end_window."""
        return [flow_window(window, self._sizes) for window in self._end()]

    def rest(self) -> list[FlowWindow]:
        """Those that a process has printed that has ended."""
        return [flow_window(window, self._sizes) for window in self._new()]

    def _end(self) -> list[dict[str, Any]]:
        found = self._new()
        asked = sum(bool(window["asked"]) for window in found)
        self._process.send_signal(signal.SIGUSR2)

        def ended() -> bool:
            found.extend(self._new())
            return sum(bool(window["asked"]) for window in found) > asked

        if not retry.until(ended, timeout_s=WINDOW_TIMEOUT_S, period_s=_POLL_S):
            raise MeasurementError(
                f"{self._name} did not end its window within {WINDOW_TIMEOUT_S:g} s",
                where=str(self._output),
            )
        return found

    def _new(self) -> list[dict[str, Any]]:
        """Windows of whole lines that were not read yet."""
        try:
            with self._output.open("rb") as file:
                file.seek(self._read_bytes)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        whole = [line for line in lines if line.endswith(b"\n")]
        self._read_bytes += sum(map(len, whole))
        events = [json.loads(line) for line in whole]
        return [event for event in events if event["event"] == "window"]


def flow_window(printed: Mapping[str, Any], sizes: Sizes) -> FlowWindow:
    """The flows of a window as sfc-sfcmon prints it. `sizes`: of its sketches."""
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
        # The least estimate whose share of the packets is enough.
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
    """The FlowID2 that the tool prints, followed by zeros."""
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
