"""What a packet that is not sampled costs at each hook.

Two ways. The kernel's own statistics (run_time_ns / run_cnt) under traffic; they contain their two
readings of the clock, so that a program that does nothing is measured beside, at the same interface
in the same run: the floor. And the program run a million times on one packet
(BPF_PROG_TEST_RUN), where the clock is read once, with the same floor.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from _runner import Budget, Row, Run
from _shared import bpf
from _shared.bpf_time import spent
from _shared.chain import output

from _pptmon.testbed import CLIENT, SERVER, testbed
from sfcperf.hosts.process import inside

NOTHING = "a program that does nothing"
BUDGET = Budget(high=60, of="excess")


def costs(run: Run) -> Iterator[Row]:
    """Of a packet that is not sampled: one sample per second in 100 Mbit/s of UDP."""
    seconds = 4 if run.parameters.quick else 10
    with testbed() as bed:
        bed.offloads(True)
        floor = bpf.load_nothing()
        with inside(bed.vnf.namespace):
            link = bpf.attach(floor, socket.if_nametoindex("in"), "ingress")
        with bed.pptmon("--rate", "1") as pptmon, bed.listening(), bpf.statistics():
            bed.iperf3("-u", "-b", "100M", "-t", str(seconds))
            by_name = {p["name"]: p for p in programs({pptmon.process.pid, os.getpid()})}
            repeated = {
                name: bpf.repeated_ns(bpf.by_id(by_name[name]["id"]), _frame())
                for name in ("enter", "leave", "floor")
            }
        os.close(link)
        os.close(floor)
    found = {name: spent(program) for name, program in by_name.items()}
    for name in ("enter", "leave"):
        case, packets = f"unsampled packet at `{name}`", f"{found[name].runs} packets"
        nothing = (NOTHING, found["floor"].ns)
        yield Row(f"{case}, run_time_ns", found[name].ns, "ns", *nothing, BUDGET, packets)
        nothing = (NOTHING, repeated["floor"])
        yield Row(f"{case}, run a million times", repeated[name], "ns", *nothing, BUDGET)


def programs(pids: set[int]) -> list[dict[str, Any]]:
    """Those that these processes hold, as bpftool describes them."""
    held = {number for pid in pids for number in _held(pid)}
    return [p for p in json.loads(output(["bpftool", "-j", "prog", "show"])) if p["id"] in held]


def _held(pid: int) -> Iterator[int]:
    """Ids of the programs to which a process has descriptors (proc(5))."""
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            for line in info.read_text().splitlines():
                if line.startswith("prog_id:"):
                    yield int(line.split()[1])


def _frame() -> bytes:
    """TCP with a time stamp option, as nearly all of today."""
    from scapy.layers.inet import IP, TCP
    from scapy.layers.l2 import Ether

    options = [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))]
    segment = TCP(options=options) / (b"x" * 1000)
    return bytes(Ether(dst="02:00:00:00:00:02") / IP(src=CLIENT, dst=SERVER) / segment)
