"""SDN-Mon at an Open vSwitch in userspace: what it adds to the switch's CPU time, with 180,000
flows and a sampling ratio of 0.5, beside the switch's own sFlow and IPFIX of each packet.

    sudo .venv/bin/python benchmarks/sdnmon/switch.py

All are measured in turn, in each round. The switch's time is that of its control group. Programs
of the kernel run in the sender's time, so the kernel measures theirs (BPF_ENABLE_STATS,
which adds some 20 ns to each).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from sfcperf.management.deployment import Deployment
from sfcperf.passive.sdn_mon import SdnMonMonitor
from sfcperf.workflow.defaults import with_defaults

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.bpf import statistics
from _shared.bpf_time import Spent, totals
from _shared.chain import deployed, workflow
from _shared.offering import offering

RATE_PPS, OFFERED_S = 12_000, 3.0
MOST_LOST = 0.005
"""Of the packets: a switch that loses some spends less on each."""
PORTS, SOURCES = 60_000, 3
MODES: Mapping[str, float] = {"none": 1, "hash": 0.5, "bloom": 0.5, "sflow": 1, "ipfix": 1}
"""What monitors -> its ratio."""
OWN = ("hash", "bloom")
GOAL_SHARE = 0.05
GOAL_OF_IPFIX = 0.1
CHAIN = {"functions": [], "classifier": {"match": {"ip_proto": "any"}}}


def monitoring(run: Run) -> Iterator[Row]:
    """What each adds to the switch's time without any."""
    with statistics(), deployed(workflow(vnfs={}, chain=CHAIN), "ovs") as deployment:
        costs = run.in_turn(list(MODES), partial(cost, deployment))
    base = costs["none"]
    added = {
        mode: found
        if mode in OWN
        else [one - without for one, without in zip(found, base, strict=True)]
        for mode, found in costs.items()
        if mode != "none"
    }
    peer = f"without, {PORTS * SOURCES:,} flows"
    for mode, more in added.items():
        budget = Budget(high=GOAL_SHARE, of="ratio") if mode == "hash" else None
        yield Row(f"{mode} adds, CPU per packet", more, "ns", peer, base, budget)
    budget = Budget(high=GOAL_OF_IPFIX, of="ratio")
    yield Row("hash by IPFIX of each packet", added["hash"], "ns", "ipfix", added["ipfix"], budget)


def cost(deployment: Deployment, mode: str) -> float:
    """Nanoseconds per packet: of SDN-Mon's programs, or else of the switch."""
    parameters = {"mode": mode, "ratio": MODES[mode], "capacity": 200_000, "most_flows": 0}
    monitor = SdnMonMonitor(with_defaults(SdnMonMonitor.parameters, parameters))
    with tempfile.TemporaryDirectory() as raw:
        try:
            monitor.start(deployment, Path(raw))
            offer(deployment, mode)  # entries are there then
            return offer(deployment, mode)
        finally:
            monitor.stop()


def offer(deployment: Deployment, mode: str) -> float:
    """The cost of packets that are offered for a while."""
    switch = "sff@node1"
    with offering(deployment, flows=PORTS, source_addresses=SOURCES) as offer_packets:
        before, used_s = programs(), deployment.meters[switch].cpu_s()
        offered = offer_packets(RATE_PPS, OFFERED_S)
        used_s = deployment.meters[switch].cpu_s() - used_s
        spent = programs().since(before)
    if offered.lost > MOST_LOST * offered.sent:
        raise SystemExit(f"{mode}: {offered.lost} of {offered.sent} packets were lost: too fast")
    return spent.ns if mode in OWN else used_s * 1e9 / offered.received


def programs() -> Spent:
    """By SDN-Mon's programs at ports, all together."""
    ours = totals("arrive").values()
    return Spent(sum(each.time_ns for each in ours), sum(each.runs for each in ours))


if __name__ == "__main__":
    Benchmark(__doc__, {monitoring: 5}).main()
