"""The engine `ebpf` of SFCMon: what it costs per packet, and throughput, beside forwarding without
it and beside a table of flows, from 1 to 40,000 flows.

    sudo .venv/bin/python benchmarks/sfcmon/engine.py

The kernel measures the time of both XDP programs (BPF_ENABLE_STATS). All flows are of one
source, which is a heavy hitter or not: only packets of heavy hitters update the IBLT. Cases are
measured in turn, and ratios are of pairs.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.bpf import statistics
from _shared.bpf_time import totals
from _shared.chain import one_function
from _shared.offering import offering

FLOWS = (1, 20_000, 40_000)
RATE_PPS = 300_000
MOST_PPS = 10_000_000
"""More than a chain on this machine carries."""
OFFERED_S = 0.5
ENTRIES = {"source": "10.0.0.1", "destination": "10.0.0.2"}
"""Addresses that the driver gives the endpoints."""
SKETCHES, TABLE = "sketches, all heavy hitters", "table with entries"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "forwarder": ("forwarder", {}),
    "sketches, no heavy hitters": ("sfcmon", {"threshold": 0, "threshold_eval": (1 << 32) - 1}),
    SKETCHES: ("sfcmon", {"threshold": 0, "threshold_eval": 0}),
    "table that learns": ("sfcmon", {"monitor": "table"}),
    TABLE: ("sfcmon", {"monitor": "table", "table_entries": [ENTRIES]}),
    "none": ("sfcmon", {"monitor": "none"}),
}
PROGRAMS = {"forwarder": "forward", "sfcmon": "serve"}


def packets(run: Run) -> Iterator[Row]:
    """Costs and throughput of all cases."""
    sides = list(itertools.product(CASES, FLOWS))
    found = run.in_turn(sides, lambda side: measured(*CASES[side[0]], side[1]))
    ns, kpps = ({key: [each[i] for each in of] for key, of in found.items()} for i in (0, 1))
    for case, flows in sides[len(FLOWS) :]:
        name, budget = f"{case}, {flows:,} flows", Budget(high=120, of="excess")
        yield Row(name, ns[case, flows], "ns", "forwarder", ns["forwarder", flows], budget)
        yield Row(name, kpps[case, flows], "kpps", "no monitoring", kpps["none", flows])
    for case in CASES:
        for unit, values in (("kpps", kpps), ("ns", ns)):
            name = f"{case}, {FLOWS[-1]:,} flows"
            yield Row(name, values[case, FLOWS[-1]], unit, "1 flow", values[case, 1])
    for flows in FLOWS:
        name = f"{SKETCHES}, {flows:,} flows"
        yield Row(name, kpps[SKETCHES, flows], "kpps", TABLE, kpps[TABLE, flows])


def measured(type_: str, knobs: dict[str, Any], flows: int) -> tuple[float, float]:
    """Nanoseconds per packet of the function's program, at a fixed rate, and thousands of packets
    per second that the chain carries at most."""
    name = PROGRAMS[type_]
    if "table_entries" in knobs:
        knobs = {**knobs, "table_entries": [{**ENTRIES, "count": flows}]}
    others = totals(name).keys()
    with (
        statistics(),
        one_function({"type": type_, "knobs": knobs}) as deployment,
        offering(deployment, flows=flows) as offer,
    ):
        before = totals(name)
        sent = offer(RATE_PPS, OFFERED_S).sent
        after = totals(name)
        most = offer(MOST_PPS, OFFERED_S)
    ours = [after[i].since(before[i]) for i in before.keys() - others if i in after]
    spent = max(ours, key=lambda each: each.runs)
    if spent.runs < sent / 2:
        raise SystemExit(f"the kernel measured {spent.runs} of {sent} packets")
    return spent.ns, most.received / OFFERED_S / 1e3


if __name__ == "__main__":
    Benchmark(__doc__, {packets: 6}).main()
