"""SFCMon at the SFF of the data plane `ebpf`: what a lookup costs with it and without.

    sudo .venv/bin/python benchmarks/sfcmon/sff.py

The kernel measures the time of the SFF's XDP program (BPF_ENABLE_STATS) before SFCMon
monitors, while it does, and after it: without it, the program is the same one. All flows are of one
source, which is a heavy hitter or not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import FLOWS, OFFERED_S, RATE_PPS

from sfcperf.management.deployment import Deployment
from sfcperf.passive.sfcmon import SfcmonMonitor
from sfcperf.workflow.defaults import with_defaults

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.bpf import statistics
from _shared.bpf_time import Spent, spent
from _shared.chain import one_function, output
from _shared.offering import offering

EVALUATED = {"without heavy hitters": (1 << 32) - 1, "if all are": 0}
"""Packets before which there are no heavy hitters."""


def lookups(run: Run) -> Iterator[Row]:
    """Before SFCMon monitors, while it does, and after it."""
    with statistics(), one_function({"type": "forwarder"}) as deployment:
        first = program(deployment)

        def after(flows: int) -> float:
            assert program(deployment) == first, "the SFF's own program is not back"
            return cost(deployment, flows)

        sides: dict[tuple[str, int], Callable[[], float]] = {}
        for flows in FLOWS:
            sides["before", flows] = lambda n=flows: cost(deployment, n)
            for heavy, evaluated in EVALUATED.items():
                parameters = {"threshold": 0, "threshold_eval": evaluated}
                sides[heavy, flows] = lambda n=flows, p=parameters: watched(deployment, n, p)
            sides["after", flows] = lambda n=flows: after(n)
        costs = run.in_turn(sides)
    for flows in FLOWS:
        without = costs["before", flows]
        for heavy in EVALUATED:
            name, budget = f"with SFCMon, {heavy}, {flows:,} flows", Budget(high=120, of="excess")
            yield Row(name, costs[heavy, flows], "ns", "before it", without, budget)
        name = f"after SFCMon, {flows:,} flows"
        yield Row(name, costs["after", flows], "ns", "before it", without)


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
        before = lookup_time(deployment)
        offer(RATE_PPS, OFFERED_S)
        return lookup_time(deployment).since(before).ns


def program(deployment: Deployment) -> int:
    """Id of the program that the SFF has now."""
    port = deployment.hops[0]
    shown = port.host.run(["ip", "-json", "link", "show", port.interface], timeout_s=10).text
    number: int = json.loads(shown)[0]["xdp"]["prog"]["id"]
    return number


def lookup_time(deployment: Deployment) -> Spent:
    """By it so far."""
    number = str(program(deployment))
    return spent(json.loads(output(["bpftool", "-j", "prog", "show", "id", number])))


if __name__ == "__main__":
    Benchmark(__doc__, {lookups: 6}).main()
