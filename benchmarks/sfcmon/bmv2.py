"""SFCMon on bmv2: throughput of the P4 switch with sketches, with a table of flows, and without
monitoring, from 1 to 40,000 flows.

    sudo .venv/bin/python benchmarks/sfcmon/bmv2.py

Frames with an NSH go into one port and come back from it. No more are on their way than queues have
room for, so that none are lost: what returns per second is the throughput. The three switches run
at the same time and are measured in turn; CPU time is that of the switch.
"""

from __future__ import annotations

import random
import select
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run, Skipped
from _shared.cpu_time import cpu_s

FLOWS = (1, 20_000, 40_000)
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
SKETCHES, TABLE, PLAIN = "sketches", "table", "no monitoring"


def throughput(run: Run) -> Iterator[Row]:
    """With more and more flows."""
    from sfcperf.vnfs.sfcmon.bmv2 import banks, switch

    if not (found := switch.requirement()).met:
        raise Skipped(f"{found.name}: {found.detail}; {found.remedy}")
    from support.vnfs.bmv2_bench import Bmv2Bench

    from sfcperf.vnfs.sfcmon.bmv2.programs import Program

    with (
        Bmv2Bench(Program.SKETCHES) as sketches,
        Bmv2Bench(Program.TABLE) as table,
        Bmv2Bench(Program.PLAIN) as plain,
    ):
        benches = {SKETCHES: sketches, TABLE: table, PLAIN: plain}
        for bench in benches.values():
            bench.paths({(SPI, SI): "nsh"})
        sketches.control.modify([banks.window(0, **THRESHOLDS)])
        costs: dict[int, Mapping[str, list[tuple[float, float]]]] = {}
        for before, flows in zip((0, *FLOWS), FLOWS, strict=False):
            for start in range(before, flows, ENTRIES_AT_ONCE):
                table.control.insert(entries(start, min(flows, start + ENTRIES_AT_ONCE)))
            frames = list(made(flows))
            costs[flows] = run.in_turn(benches, lambda b, frames=frames: measured(b, frames))
    for number, (what, unit) in enumerate((("throughput", "pps"), ("CPU time", "us"))):
        found = {
            (name, flows): [each[number] for each in of[name]]
            for flows, of in costs.items()
            for name in benches
        }
        for flows in FLOWS:
            for name, peer in ((SKETCHES, PLAIN), (TABLE, PLAIN), (SKETCHES, TABLE)):
                case = f"{name}, {flows:,} flows, {what}"
                yield Row(case, found[name, flows], unit, peer, found[peer, flows])
        for name in benches:
            case = f"{name}, {FLOWS[-1]:,} flows, {what}"
            yield Row(case, found[name, FLOWS[-1]], unit, "1 flow", found[name, 1])


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


if __name__ == "__main__":
    Benchmark(__doc__, {throughput: 8}).main()
