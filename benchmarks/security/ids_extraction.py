"""The IDS: what extraction costs per packet, beside nfstream's, and beside forwarding alone.

    sudo .venv/bin/python benchmarks/security/ids_extraction.py [--nfstream PYTHON] [PART ...]

`memory`: CPU time of sfc-ids over packets in memory, and of nfstream (statistical features, one
meter; as it comes, and without its dissection by nDPI) over the same capture.
nfstream is no dependency of SFCPerf: `--nfstream` names the interpreter of a virtual environment
that has it. `chain`: a chain of one function, the IDS or the forwarder with its engine `userspace`,
in turn: CPU time of the process per packet at a fixed rate, without and with the thread that
exports records to a file, and packets per second at most. Ratios are of pairs.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from sfcperf.dataplane import binaries
from sfcperf.vnfs.ids.function import BINARY

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run
from _shared.chain import one_function, output
from _shared.cpu_time import by_thread
from _shared.offering import offering
from _shared.pcap import write_pcap

FLOWS, PACKETS, REPEATS = 5000, 200_000, 10
RATE_PPS, MOST_PPS = 100_000, 10_000_000
OFFERED_S = 2.0
DISSECTIONS = {20: "as it comes", 0: "without dissection"}
EXPORTER = "export"
COST_GOAL_NS = 300
CASES = {
    "forwarder": {"type": "forwarder", "knobs": {"engine": "userspace"}},
    "ids": {"type": "ids"},
}

_NFSTREAM = """
import os, sys
from nfstream import NFStreamer
dissections = int(sys.argv[2])
streamer = NFStreamer(
    source=sys.argv[1], statistical_analysis=True, n_dissections=dissections, n_meters=1
)
began_s = sum(os.times()[:4])
flows = sum(1 for _ in streamer)
# The meter is a process of its own, and has ended.
print(sum(os.times()[:4]) - began_s, flows)
"""


def memory(run: Run) -> Iterator[Row]:
    """Packets in memory."""
    nfstream, ours = run.parameters.nfstream, "extraction"

    def extracted(capture: Path) -> float:
        argv = [binaries.find(BINARY), "--pcap", capture, "--repeat", REPEATS]
        found = json.loads(output(argv))
        return float(found["cpu_ns"] / found["packets"])

    def others(capture: Path, dissections: int) -> float:
        spent_s = output([nfstream, "-c", _NFSTREAM, capture, dissections]).split()[0]
        return float(spent_s) * 1e9 / PACKETS

    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "flows.pcap")
        write_pcap(capture, _frames_in_time())
        sides = {ours: lambda: extracted(capture)}
        for dissections, name in DISSECTIONS.items() if nfstream else ():
            sides[f"nfstream, {name}"] = lambda d=dissections: others(capture, d)
        found = run.in_turn(sides)
    name, budget = f"extraction, {FLOWS:,} flows, in memory", Budget(high=COST_GOAL_NS)
    yield Row(name, found[ours], "ns", budget=budget)
    for name in list(sides)[1:]:
        yield Row(name, found[name], "ns", ours, found[ours], Budget(low=100, of="ratio"))


def chain(run: Run) -> Iterator[Row]:
    """A chain of one function."""
    found = run.in_turn(CASES, _measured)
    of = {name: list(zip(*readings, strict=True)) for name, readings in found.items()}
    (base_ns, _, base_kpps), (own_ns, all_ns, kpps) = of.values()
    budget, peer = Budget(high=COST_GOAL_NS, of="excess"), ("forwarder", base_ns)
    yield Row("IDS, CPU time per packet in a chain", own_ns, "ns", *peer, budget)
    yield Row("IDS with the export of records, CPU time", all_ns, "ns", *peer)
    budget = Budget(low=0.9, of="ratio")
    yield Row("IDS, throughput", kpps, "kpps", "forwarder", base_kpps, budget)


def _measured(vnf: dict[str, Any]) -> tuple[float, float, float]:
    """CPU time per packet, ns, of the function's process without its exporting thread and with it,
    and thousands of packets per second at most."""
    with one_function(vnf) as deployment, offering(deployment, flows=FLOWS) as offer:
        (function,) = deployment.functions
        (pid,) = deployment.meters[function.name].pids()
        before, packets = by_thread(pid), function.counters()["forwarded"]
        offer(RATE_PPS, OFFERED_S)
        used_ns: Counter[str] = by_thread(pid)
        used_ns.subtract(before)
        packets = function.counters()["forwarded"] - packets
        most = offer(MOST_PPS, OFFERED_S)
    total_ns = used_ns.total()
    forwarding_ns = total_ns - used_ns[EXPORTER]
    return forwarding_ns / packets, total_ns / packets, most.received / OFFERED_S / 1e3


def _frames_in_time() -> Iterator[tuple[int, bytes]]:
    """Flows of different popularity in both directions, 10 us apart on average."""
    chance = random.Random(1)
    flows = [_frames(chance) for _ in range(FLOWS)]
    weights = [1 / (rank + 1) ** 0.8 for rank in range(FLOWS)]
    now_ns = 10**18
    for flow in chance.choices(flows, weights, k=PACKETS):
        now_ns += chance.randrange(20_000)
        yield now_ns, flow[chance.random() < 0.5]


def _frames(chance: random.Random) -> tuple[bytes, bytes]:
    """One of each direction of a flow."""
    client, server = (f"10.{net}.{chance.randrange(256)}.{chance.randrange(256)}" for net in (0, 1))
    port, service = chance.randrange(1024, 65536), chance.choice([53, 80, 443])
    transport = chance.choice([TCP, TCP, UDP])
    payload = [Raw(bytes(chance.randrange(1200))) for _ in range(2)]
    there = IP(src=client, dst=server) / transport(sport=port, dport=service) / payload[0]
    back = IP(src=server, dst=client) / transport(sport=service, dport=port) / payload[1]
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return bytes(link / there), bytes(link / back)


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {memory: 6, chain: 6},
        {"nfstream": Parameter(None, "an interpreter that has nfstream")},
    ).main()
