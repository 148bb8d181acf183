"""SFCMon on bmv2: throughput of the P4 switch with sketches, with a table of flows, and without
monitoring, from 1 to 40,000 flows.

    sudo .venv/bin/python benchmarks/sfcmon/bmv2.py

Frames with an NSH go into one port and come back from it. No more are on their way than queues have
room for, so that none are lost: what returns per second is the throughput. The three switches run
at the same time and are measured in turn; CPU time is that of the switch.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.ratio import ratio

FLOWS = (1, 20_000, 40_000)
ROUNDS = 8
OFFERED_S = 1.0
WARMUP_S = 0.3
SENT = 2_000
"""Different frames: all that are sent belong to the tracked flows."""
AT_ONCE = 32
AHEAD = 192
"""Frames that are on their way at most."""
SPI, SI = 5, 7
ENTRIES_AT_ONCE = 2000
THRESHOLDS = {"eval_packets": 1000, "share": 4_294_967, "least_packets": 0}
SOURCE, DESTINATION = "198.18.0.1", "198.18.0.2"


def main() -> int:
    """Print the rows."""
    from sfcperf.vnfs.sfcmon.bmv2 import switch

    if not (found := switch.requirement()).met:
        print(f"skipped: {found.name}: {found.detail}; {found.remedy}")
        return 0
    from support.vnfs.bmv2_bench import Bmv2Bench

    from sfcperf.vnfs.sfcmon.bmv2.programs import Program

    with (
        Bmv2Bench(Program.SKETCHES) as sketches,
        Bmv2Bench(Program.TABLE) as table,
        Bmv2Bench(Program.PLAIN) as plain,
    ):
        report({"sketches": sketches, "table": table, "no monitoring": plain})
    return 0


def report(benches: dict[str, Any]) -> None:
    """Measure all, with more and more flows."""
    from sfcperf.vnfs.sfcmon.bmv2 import banks

    for bench in benches.values():
        bench.paths({(SPI, SI): "nsh"})
    benches["sketches"].control.modify([banks.window(0, **THRESHOLDS)])
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    cpu_us: dict[tuple[str, int], list[float]] = defaultdict(list)
    there = 0
    for flows in FLOWS:
        for start in range(there, flows, ENTRIES_AT_ONCE):
            end = min(flows, start + ENTRIES_AT_ONCE)
            benches["table"].control.insert(entries(start, end))
        there = flows
        frames = list(made(flows))
        for _ in range(ROUNDS):
            for name, bench in benches.items():
                rate_pps, packet_us = measured(bench, frames)
                rates[name, flows].append(rate_pps)
                cpu_us[name, flows].append(packet_us)
    for flows in FLOWS:
        for name in ("sketches", "table"):
            print(
                f"{name}, {flows:,} flows: {median(rates[name, flows]):.0f} pps, by that without "
                f"monitoring {ratio(rates[name, flows], rates['no monitoring', flows])}; CPU time "
                f"{median(cpu_us[name, flows]):.0f} us per packet, by that without monitoring "
                f"{ratio(cpu_us[name, flows], cpu_us['no monitoring', flows])}"
            )
        found = ratio(rates["sketches", flows], rates["table", flows])
        print(f"{flows:,} flows: throughput with sketches by that with a table {found}")
    for name in benches:
        print(
            f"{name}: throughput with {FLOWS[-1]:,} flows by that with 1 "
            f"{ratio(rates[name, FLOWS[-1]], rates[name, 1])}; CPU time per packet "
            f"{ratio(cpu_us[name, FLOWS[-1]], cpu_us[name, 1])}"
        )


def entries(start: int, end: int) -> list[Any]:
    """Of flows by their source ports."""
    import finsy
    from finsy.p4entity import P4TableEntry

    source, destination = (int.from_bytes(map(int, a.split("."))) for a in (SOURCE, DESTINATION))
    return [
        P4TableEntry(
            "flows",
            match=finsy.Match(
                path=SPI << 8 | SI,
                kind=17 << 24 | 4 << 16,
                ports=(1024 + flow) << 16 | 9,
                source=source,
                destination=destination,
            ),
            action=finsy.Action("count"),
        )
        for flow in range(start, end)
    ]


def made(flows: int) -> Iterator[bytes]:
    """Frames of flows that are drawn from all."""
    from support.vnfs.sff_bench import CLIENT, SERVER, on_ethernet

    draw = random.Random(1)
    nsh = NSH(spi=SPI, si=SI, ttl=9, nextproto=3, context_header=bytes(16))
    for _ in range(SENT):
        udp = UDP(sport=1024 + draw.randrange(flows), dport=9)
        inner = Ether(src=CLIENT, dst=SERVER) / IP(src=SOURCE, dst=DESTINATION) / udp / bytes(64)
        yield bytes(on_ethernet(nsh / inner))


def measured(bench: Any, frames: list[bytes]) -> tuple[float, float]:
    """Frames per second that come back, and CPU time of the switch for each, us. Raises
    RuntimeError when frames are lost."""
    from support.vnfs.sff_bench import PORT_NSH

    pid, wire = bench.switch.process.pid, bench.wires[PORT_NSH]._socket
    wire.setblocking(False)
    try:
        exchange(wire, frames, WARMUP_S)
        before_s, began_s = cpu_s(pid), time.monotonic()
        returned = exchange(wire, frames, OFFERED_S)
        took_s = time.monotonic() - began_s
        return returned / took_s, (cpu_s(pid) - before_s) / returned * 1e6
    finally:
        wire.setblocking(True)


def exchange(wire: Any, frames: list[bytes], duration_s: float) -> int:
    """Send for a time, wait until all are back, and give their number."""
    sent = returned = 0
    end = time.monotonic() + duration_s
    while time.monotonic() < end or returned < sent:
        if time.monotonic() < end and sent - returned <= AHEAD:
            for number in range(sent, sent + AT_ONCE):
                wire.send(frames[number % len(frames)])
            sent += AT_ONCE
        if not select.select([wire], [], [], 1.0)[0]:
            raise RuntimeError(f"{sent - returned} of {sent} frames did not come back")
        try:
            while True:
                wire.recv(2048)
                returned += 1
        except BlockingIOError:
            pass
    return returned


def cpu_s(pid: int) -> float:
    """CPU time of a process and its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
