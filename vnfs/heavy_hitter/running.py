"""Running sfc-heavy-hitter processes: their counters, and the heavy hitters of their windows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sfcperf.dataplane.printed_windows import PrintedWindows
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import FlowReporter, FlowWindow
from sfcperf.results.flows import FlowCount
from sfcperf.sketches.listing import Certainty
from sfcperf.vnfs.base import RunningFunction

BINARY = "sfc-heavy-hitter"
_NAMES = ("received", "forwarded", "dropped", "passed", "counted", "heavy", "unmonitored")
"""Counters of packets that are called the same in the stats file."""


class RunningHeavyHitter(StatsProcess, RunningFunction):
    """An sfc-heavy-hitter process, its stats file and the file of its windows."""

    binary = BINARY
    windows: PrintedWindows

    @classmethod
    def launch(
        cls, name: str, host: Host, options: list[str], threshold: int, output: Path
    ) -> Self:
        """Start sfc-heavy-hitter; `wait_ready` says when it works. `threshold`: packets, as in
        `options`. `output`: file for the windows that it prints. Raises DeploymentError,
        EnvironmentLacks."""
        running = cls.spawn(name, host, options, output)

        def read(printed: Mapping[str, Any]) -> FlowWindow:
            return flow_window(printed, threshold)

        running.windows = PrintedWindows(running._process, output, cls.binary, read)
        return running

    def counters(self) -> Mapping[str, int]:
        """Packets since the start, now: `received`, `forwarded`, `dropped`, `dropped_REASON`
        (`blocked` are those of heavy hitters), `passed` to the kernel, `counted` by the sketch,
        `heavy` (of heavy hitters, and forwarded), `unmonitored` (forwarded, of no flow),
        `forwarded_workerN` of each thread; and `heavy_hitters`, flows found in windows that have
        ended. Raises MeasurementError."""
        event = self.fresh()
        counters = {name: int(event[name]) for name in (*_NAMES, "heavy_hitters")}
        counters |= {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        workers = enumerate(event["workers"])
        return counters | {f"forwarded_worker{number}": count for number, count in workers}

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of the process."""
        return self.pids()

    def flows(self) -> FlowReporter:
        """Return the reporter of the heavy hitters that sfc-heavy-hitter prints for each window."""
        return self.windows


def flow_window(printed: Mapping[str, Any], threshold: int) -> FlowWindow:
    """Make a FlowWindow of a window that the tool printed. The packets of a flow are the sketch's
    estimate: packets of other flows may be among them, and blocked packets are not. If flows were
    lost, all packets of the window may be theirs."""
    lost = int(printed["lost"])
    return FlowWindow(
        start_ns=printed["start_ns"],
        end_ns=printed["end_ns"],
        packets=printed["packets"],
        unparsed={"not_monitored": printed["unmonitored"]},
        flows=tuple(
            FlowCount(
                spi=None,
                si=None,
                source_address=found["source"],
                destination_address=found["destination"],
                protocol=found["protocol"],
                source_port=found["source_port"],
                destination_port=found["destination_port"],
                packets=found["packets"],
                bytes=None,
                certainty=Certainty.AT_MOST,
            )
            for found in printed["heavy_hitters"]
        ),
        missing_flows=lost,
        missing_packets=printed["packets"] if lost else 0,
        residual_cells=0,
        threshold_packets=threshold + 1,  # a flow with as many as the threshold is not listed
    )
