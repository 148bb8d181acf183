"""A function that forwards NSH frames by itself: a process of a tool of dataplane/forwarding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.vnfs.base import RunningFunction


class NshForwarding(StatsProcess, RunningFunction):
    """A process that forwards NSH frames, and its stats file."""

    def counters(self) -> Mapping[str, int]:
        """Packets since the start, now.

        `received`, `forwarded` and `dropped` count NSH packets sent to this function; `passed`
        are frames left to the kernel; `dropped_REASON` per reason; `forwarded_spiN_siM` per path,
        with the SI as the packet arrived; `forwarded_workerN` per thread of engine `userspace`.
        Raises MeasurementError.
        """
        return self.forwarded(self.fresh())

    @staticmethod
    def forwarded(event: Mapping[str, Any]) -> dict[str, int]:
        """Return the counters, named as in `counters`, of an event `counters` that the tool
        wrote."""
        counters = {name: event[name] for name in ("received", "forwarded", "dropped", "passed")}
        counters |= {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        for path in event["paths"]:
            counters[f"forwarded_spi{path['spi']}_si{path['si']}"] = path["packets"]
        for number, forwarded in enumerate(event["workers"]):
            counters[f"forwarded_worker{number}"] = forwarded
        return counters
