"""sfcmon: the heavy hitters that functions of type `sfcmon` find while a probe runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment, FlowReporter, FlowWindow
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, object_schema
from sfcperf.results import flows
from sfcperf.results.flows import FlowRecord
from sfcperf.results.values import Observation


class SfcmonMonitor(Monitor):
    """Packets and flows of each window, as the functions of type `sfcmon` in the chain report them.

    The windows of a trial begin and end with it. Flows go to `flows.parquet`. At the end of each
    window, telemetry has for the function, `mon-1`: `monitored_packets` (all, of listed flows or
    not), `flows` (listed), `missing_flows` (not listed, because the window has too many; a full
    table cannot tell how many) with `missing_packets` (they have at most so many together),
    `threshold` (least packets of a heavy
    hitter), `residual_cells` (signs of Bloom filter false positives) and `unparsed_REASON` (frames
    that were not monitored).
    """

    name = "sfcmon"
    title = "Heavy hitters: the flows that functions of type sfcmon list"
    cost = "reading a window costs the monitor some ms of CPU; the functions work without it too"
    parameters = object_schema({})

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Nothing: the functions have what they need."""
        return []

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """See Monitor.start."""
        self._reporters: dict[str, FlowReporter] = {
            function.name: function.flows
            for function in deployment.functions
            if function.flows is not None
        }
        self._reporters |= deployment.sff_flows
        # One with `monitor: none` is a baseline, as is a chain without functions.
        if not self._reporters and not _baseline(deployment):
            raise MeasurementError(
                "no function of this chain lists flows, which the monitor `sfcmon` needs",
                hint="add a VNF of type `sfcmon` to the chain, or leave the monitor out",
            )
        for reporter in self._reporters.values():
            reporter.end_window()

    def stop(self) -> Sequence[Observation]:
        """See Monitor.stop."""
        began_s = time.thread_time()
        self._windows = [
            (name, window)
            for name, reporter in self._reporters.items()
            for window in reporter.end_window()
        ]
        observations = [
            observation for name, window in self._windows for observation in _totals(name, window)
        ]
        observations.sort(key=lambda observation: observation.time_ns)
        cpu_s = time.thread_time() - began_s
        own = Observation(time.time_ns(), self.name, "monitor_cpu_s", "s", cpu_s)
        return [*observations, own]

    def flows(self) -> Sequence[FlowRecord]:
        """See Monitor.flows."""
        return [
            FlowRecord(
                function=name,
                window_start_ns=window.start_ns,
                window_end_ns=window.end_ns,
                **vars(flow),
            )
            for name, window in self._windows
            for flow in window.flows
        ]


def _baseline(deployment: Deployment) -> bool:
    return not deployment.functions or any(f.type == "sfcmon" for f in deployment.functions)


def _totals(function: str, window: FlowWindow) -> Iterator[Observation]:
    counts: Mapping[str, int | None] = {
        flows.MONITORED_PACKETS: window.packets,
        "flows": len(window.flows),
        flows.MISSING_FLOWS: window.missing_flows,
        flows.MISSING_PACKETS: window.missing_packets,
        flows.RESIDUAL_CELLS: window.residual_cells,
        "threshold": window.threshold_packets,
        **{f"{flows.UNPARSED}{reason}": count for reason, count in window.unparsed.items()},
    }
    for metric, count in counts.items():
        if count is None:  # not known
            continue
        yield Observation(window.end_ns, function, metric, "1", count)
