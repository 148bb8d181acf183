"""SFCMon at the SFF of the data plane `ebpf`: what a lookup costs with it and without.

    sudo .venv/bin/python benchmarks/sfcmon/sff.py

The kernel measures the time of the SFF's XDP program (`kernel.bpf_stats_enabled`) before SFCMon
monitors, while it does, and after it: without it, the program is the same one. All flows are of one
source, which is a heavy hitter or not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from engine import FLOWS, OFFERED_S, RATE_PPS, ROUNDS

from sfcperf.management.deployment import Deployment
from sfcperf.passive.sfcmon import SfcmonMonitor
from sfcperf.workflow.defaults import with_defaults

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.bpf_time import statistics
from _shared.chain import one_function, output
from _shared.offering import offering
from _shared.ratio import ratio

EVALUATED = {"without heavy hitters": (1 << 32) - 1, "if all are": 0}
"""Packets before which there are no heavy hitters."""


def main() -> None:
    """Print the rows."""
    costs: dict[tuple[str, int], list[float]] = {}
    with statistics(), one_function({"type": "forwarder"}) as deployment:
        first = program(deployment)
        for _ in range(ROUNDS):
            for flows in FLOWS:
                costs.setdefault(("before", flows), []).append(cost(deployment, flows))
                for heavy, evaluated in EVALUATED.items():
                    parameters = {"threshold": 0, "threshold_eval": evaluated}
                    costs.setdefault((heavy, flows), []).append(
                        watched(deployment, flows, parameters)
                    )
                assert program(deployment) == first, "the SFF's own program is not back"
                costs.setdefault(("after", flows), []).append(cost(deployment, flows))
    for flows in FLOWS:
        base = median(costs["before", flows])
        listed = ", ".join(
            f"{median(costs[heavy, flows]) - base:.0f} ns {heavy}" for heavy in EVALUATED
        )
        print(
            f"{flows:,} flows: {base:.0f} ns per lookup; SFCMon adds {listed} (goal: 120); "
            "after it, by the same program, by that before "
            f"{ratio(costs['after', flows], costs['before', flows])}"
        )


def watched(deployment: Deployment, flows: int, parameters: dict[str, float]) -> float:
    """The cost while SFCMon monitors."""
    wanted = {"at": "sffs", **parameters}
    monitor = SfcmonMonitor(with_defaults(SfcmonMonitor.parameters, wanted))
    with tempfile.TemporaryDirectory() as raw:
        try:
            monitor.start(deployment, Path(raw))
            return cost(deployment, flows)
        finally:
            monitor.stop()


def cost(deployment: Deployment, flows: int) -> float:
    """Nanoseconds per lookup of the program."""
    with offering(deployment, flows=flows) as offer:
        before = totals(deployment)
        offer(RATE_PPS, OFFERED_S)
        after = totals(deployment)
    return (after[0] - before[0]) / (after[1] - before[1])


def program(deployment: Deployment) -> int:
    """Id of the program that the SFF has now."""
    port = deployment.hops[0]
    shown = port.host.run(["ip", "-json", "link", "show", port.interface], timeout_s=10).text
    number: int = json.loads(shown)[0]["xdp"]["prog"]["id"]
    return number


def totals(deployment: Deployment) -> tuple[int, int]:
    """Its run time (ns) and runs."""
    number = str(program(deployment))
    found = json.loads(output(["bpftool", "-j", "prog", "show", "id", number]))
    return found.get("run_time_ns", 0), found.get("run_cnt", 0)


if __name__ == "__main__":
    main()
