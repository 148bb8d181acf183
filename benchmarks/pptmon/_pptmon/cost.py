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
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _pptmon import bpf
from _pptmon.testbed import CLIENT, SERVER, Testbed
from sfcperf.hosts.process import inside


@dataclass(frozen=True)
class Cost:
    """Nanoseconds per packet."""

    program: str
    statistics_ns: float
    floor_ns: float
    repeated_ns: int
    repeated_floor_ns: int
    packets: int

    @property
    def net_ns(self) -> float:
        """By the statistics, beyond the program that does nothing."""
        return self.statistics_ns - self.floor_ns

    @property
    def repeated_net_ns(self) -> float:
        """By repeated runs, beyond the same."""
        return self.repeated_ns - self.repeated_floor_ns


def measure(testbed: Testbed, seconds: int = 10) -> list[Cost]:
    """One sample per second in 100 Mbit/s of UDP."""
    testbed.offloads(True)
    floor = bpf.load_nothing()
    with inside(testbed.vnf.namespace):
        link = bpf.attach(floor, socket.if_nametoindex("in"), "ingress")
    try:
        with testbed.pptmon("--rate", "1") as pptmon, testbed.listening(), bpf.statistics():
            options = ("-u", "-b", "100M", "-t", str(seconds))
            testbed.iperf3(*options)
            by_name = {p["name"]: p for p in programs({pptmon.process.pid, os.getpid()})}
            repeated = {
                name: bpf.repeated_ns(bpf.by_id(by_name[name]["id"]), _frame())
                for name in ("enter", "leave", "floor")
            }
    finally:
        os.close(link)
        os.close(floor)
    means = {name: p["run_time_ns"] / p["run_cnt"] for name, p in by_name.items()}
    return [
        Cost(
            name,
            means[name],
            means["floor"],
            repeated[name],
            repeated["floor"],
            by_name[name]["run_cnt"],
        )
        for name in ("enter", "leave")
    ]


def programs(pids: set[int]) -> list[dict[str, Any]]:
    """Those that these processes hold, as bpftool describes them."""
    held = {number for pid in pids for number in _held(pid)}
    said = subprocess.run(["bpftool", "-j", "prog", "show"], check=True, capture_output=True)
    return [p for p in json.loads(said.stdout) if p["id"] in held]


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
