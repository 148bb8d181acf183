"""SDN-Mon at an Open vSwitch in userspace: what it adds to the switch's CPU time, with 180,000
flows and a sampling ratio of 0.5, beside the switch's own sFlow and IPFIX of each packet.

    sudo .venv/bin/python benchmarks/sdnmon/switch.py

All are measured in turn, in each round. The switch's time is that of its control group. Programs
of the kernel run in the sender's time, so the kernel measures theirs (`kernel.bpf_stats_enabled`,
which adds some 20 ns to each). Last, how often IPFIX and SDN-Mon count each packet.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from sfcperf.management.deployment import Deployment
from sfcperf.passive.sdn_mon import SdnMonMonitor
from sfcperf.workflow.defaults import with_defaults

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.bpf_time import statistics
from _shared.chain import deployed, output, workflow
from _shared.offering import offering

RATE_PPS, OFFERED_S, ROUNDS = 12_000, 3.0, 5
MOST_LOST = 0.005
"""Of the packets: a switch that loses some spends less on each."""
PORTS, SOURCES = 60_000, 3
MODES: Mapping[str, float] = {"none": 1, "hash": 0.5, "bloom": 0.5, "sflow": 1, "ipfix": 1}
"""What monitors -> its ratio."""
OWN = ("hash", "bloom")
GOAL_SHARE = 0.05
GOAL_OF_IPFIX = 0.1
CHAIN = {"functions": [], "classifier": {"match": {"ip_proto": "any"}}}


def main() -> None:
    """Print the rows."""
    costs: dict[str, list[float]] = {mode: [] for mode in MODES}
    with statistics(), deployed(workflow(vnfs={}, chain=CHAIN), "ovs") as deployment:
        for _ in range(ROUNDS):
            for mode in MODES:
                costs[mode].append(cost(deployment, mode))
    base = median(costs["none"])
    added = {
        mode: median(found if mode in OWN else [one - without for one, without in both])
        for mode, found in costs.items()
        for both in [list(zip(found, costs["none"], strict=True))]
    }
    print(f"Open vSwitch, {PORTS * SOURCES:,} flows: {base:.0f} ns of CPU per packet without")
    for mode in MODES:
        if mode != "none":
            goal = f" (goal: {100 * GOAL_SHARE:.0f} %)" if mode == "hash" else ""
            print(f"{mode}: {added[mode]:.0f} ns more, {100 * added[mode] / base:.1f} %{goal}")
    share = added["hash"] / added["ipfix"]
    print(f"hash by IPFIX of each packet: {share:.3f} (goal: {GOAL_OF_IPFIX})")


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
        after = programs()
    if offered.lost > MOST_LOST * offered.sent:
        raise SystemExit(f"{mode}: {offered.lost} of {offered.sent} packets were lost: too fast")
    if mode in OWN:
        return (after[0] - before[0]) / (after[1] - before[1])
    return used_s * 1e9 / offered.received


def programs() -> tuple[int, int]:
    """Run time (ns) and runs of SDN-Mon's programs at ports."""
    shown = json.loads(output(["bpftool", "-j", "prog", "show"]))
    ours = [each for each in shown if each.get("name") == "arrive"]
    return (
        sum(each.get("run_time_ns", 0) for each in ours),
        sum(each.get("run_cnt", 0) for each in ours),
    )


if __name__ == "__main__":
    main()
