"""sfcmon: the heavy hitters that functions of type `sfcmon` find while a probe runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment, FlowReporter, FlowWindow
from sfcperf.passive.base import Monitor
from sfcperf.plugins import Requirement, object_schema
from sfcperf.results.values import Observation


class SfcmonMonitor(Monitor):
    """Packets and flows of each window, as the functions of type `sfcmon` in the chain report them.

    The windows of a trial begin and end with it. At the end of each window, the source is the
    function, `mon-1`, for: `packets` (all that were monitored), `flows` (listed), `missing_flows`
    (that could not be listed) with `missing_packets` (an upper bound for theirs), `threshold`
    (least packets of a reported source), `residual_cells` (signs of Bloom filter false positives)
    and `unparsed_REASON`. Each listed flow is a source of its own, `mon-1/spi1-si255/10.0.0.1:1000
    > 10.0.1.1:80 tcp`, with `packets` and `bytes`; the metrics are `packets_unverified` and
    `packets_at_most` (and so on) where they are not known to be exact.
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
        if deployment.functions and not self._reporters:
            raise MeasurementError(
                "no function of this chain lists flows, which the monitor `sfcmon` needs",
                hint="add a VNF of type `sfcmon` to the chain, or leave the monitor out",
            )
        for reporter in self._reporters.values():
            reporter.end_window()

    def stop(self) -> Sequence[Observation]:
        """See Monitor.stop."""
        began_s = time.thread_time()
        observations = [
            observation
            for name, reporter in self._reporters.items()
            for window in reporter.end_window()
            for observation in _of_window(name, window)
        ]
        observations.sort(key=lambda observation: observation.time_ns)
        cpu_s = time.thread_time() - began_s
        own = Observation(time.time_ns(), self.name, "monitor_cpu_s", "s", cpu_s)
        return [*observations, own]


def _of_window(function: str, window: FlowWindow) -> Iterator[Observation]:
    counts = {
        "packets": window.packets,
        "flows": len(window.flows),
        "missing_flows": window.missing_flows,
        "missing_packets": window.missing_packets,
        "residual_cells": window.residual_cells,
        "threshold": window.threshold_packets,
        **{f"unparsed_{reason}": count for reason, count in window.unparsed.items()},
    }
    for metric, count in counts.items():
        yield Observation(window.end_ns, function, metric, "1", count)
    for flow in window.flows:
        source = f"{function}/spi{flow.spi}-si{flow.si}/{flow.name}"
        kind = "" if flow.certainty == "exact" else f"_{flow.certainty.replace(' ', '_')}"
        yield Observation(window.end_ns, source, f"packets{kind}", "1", flow.packets)
        yield Observation(window.end_ns, source, f"bytes{kind}", "B", flow.bytes)
