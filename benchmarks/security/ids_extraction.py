"""The IDS: what extraction costs per packet, beside nfstream's, and beside forwarding alone.

    sudo .venv/bin/python benchmarks/security/ids_extraction.py [--nfstream PYTHON]

`memory`: CPU time of sfc-ids over packets in memory, and of nfstream (statistical features, one
meter; as it comes, and without its dissection by nDPI) over the same capture.
nfstream is no dependency of SFCPerf: `--nfstream` names the interpreter of a virtual environment
that has it. `chain`: a chain of one function, the IDS or the forwarder with its engine `userspace`,
in turn: CPU time of the process per packet at a fixed rate, without and with the thread that
exports records to a file, and packets per second at most. Ratios are of pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from sfcperf.dataplane import binaries
from sfcperf.vnfs.ids.function import BINARY

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.chain import one_function, output
from _shared.offering import offering
from _shared.ratio import ratio

FLOWS, PACKETS, REPEATS = 5000, 200_000, 10
RATE_PPS, MOST_PPS = 100_000, 10_000_000
OFFERED_S = 2.0
DISSECTIONS = {20: "as it comes", 0: "without dissection"}
ROUNDS = 6
EXPORTER = "export"
COST_GOAL_NS, NFSTREAM_GOAL, THROUGHPUT_GOAL = 300, 100, 0.9
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


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nfstream", metavar="PYTHON", help="an interpreter that has nfstream")
    memory(parser.parse_args().nfstream)
    chain()


def memory(nfstream: str | None) -> None:
    """Packets in memory."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "flows.pcap")
        capture.write_bytes(_capture())
        costs_ns: list[float] = []
        others_ns: dict[int, list[float]] = defaultdict(list)
        for _ in range(ROUNDS):
            argv = [str(binaries.find(BINARY)), "--pcap", str(capture), "--repeat", str(REPEATS)]
            found = json.loads(output(argv))
            costs_ns.append(found["cpu_ns"] / found["packets"])
            for dissections in DISSECTIONS if nfstream else ():
                spent_s = output([str(nfstream), "-c", _NFSTREAM, str(capture), str(dissections)])
                others_ns[dissections].append(float(spent_s.split()[0]) * 1e9 / PACKETS)
    print(
        f"extraction, {FLOWS:,} flows, in memory: {median(costs_ns):.0f} ns per packet, "
        f"{min(costs_ns):.0f} to {max(costs_ns):.0f} (goal: {COST_GOAL_NS})"
    )
    for dissections, spent_ns in others_ns.items():
        print(
            f"nfstream, {DISSECTIONS[dissections]}: {median(spent_ns):.0f} ns per packet; by the "
            f"extraction's {ratio(spent_ns, costs_ns)} (goal: {NFSTREAM_GOAL})"
        )


def chain() -> None:
    """A chain of one function."""
    costs: dict[str, list[float]] = defaultdict(list)
    rates: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, vnf in CASES.items():
            forwarding_ns, all_ns, rate_pps = _measured(vnf)
            costs[name].append(forwarding_ns)
            costs[f"{name}, all"].append(all_ns)
            rates[name].append(rate_pps)
    base, own, total = (median(costs[case]) for case in ("forwarder", "ids", "ids, all"))
    print(
        f"CPU time per packet in a chain: forwarder {base:.0f} ns, IDS {own:.0f} ns, "
        f"{own - base:.0f} ns more (goal: {COST_GOAL_NS}); with the export of records "
        f"{total - base:.0f} ns more"
    )
    print(
        f"throughput: forwarder {median(rates['forwarder']) / 1e3:.0f} kpps, IDS "
        f"{median(rates['ids']) / 1e3:.0f} kpps; by the forwarder's "
        f"{ratio(rates['ids'], rates['forwarder'])} (goal: {THROUGHPUT_GOAL})"
    )


def _measured(vnf: dict[str, Any]) -> tuple[float, float, float]:
    """CPU time per packet, ns, of the function's process without its exporting thread and with it,
    and packets per second at most."""
    with one_function(vnf) as deployment, offering(deployment, flows=FLOWS) as offer:
        (function,) = deployment.functions
        (pid,) = deployment.meters[function.name].pids()
        used_ns, packets = _cpu_ns(pid), function.counters()["forwarded"]
        offer(RATE_PPS, OFFERED_S)
        used_ns = {name: value - used_ns.get(name, 0) for name, value in _cpu_ns(pid).items()}
        packets = function.counters()["forwarded"] - packets
        most = offer(MOST_PPS, OFFERED_S)
    total_ns = sum(used_ns.values())
    forwarding_ns = total_ns - used_ns.get(EXPORTER, 0)
    return forwarding_ns / packets, total_ns / packets, most.received / OFFERED_S


def _cpu_ns(pid: int) -> dict[str, int]:
    """CPU time of the threads of each name (schedstat: exact, where stat has ticks)."""
    used: dict[str, int] = defaultdict(int)
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        used[name] += int((task / "schedstat").read_text().split()[0])
    return used


def _capture() -> bytes:
    """A pcap file: flows of different popularity in both directions, 10 us apart on average."""
    chance = random.Random(1)
    flows = [_frames(chance) for _ in range(FLOWS)]
    weights = [1 / (rank + 1) ** 0.8 for rank in range(FLOWS)]
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
    now_ns = 10**18
    for flow in chance.choices(flows, weights, k=PACKETS):
        now_ns += chance.randrange(20_000)
        frame = flow[chance.random() < 0.5]
        seconds, rest_ns = divmod(now_ns, 10**9)
        parts += [struct.pack("<IIII", seconds, rest_ns, len(frame), len(frame)), frame]
    return b"".join(parts)


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
    main()
