"""The engine `ebpf` of SFCMon: what it costs per packet, beside forwarding without it.

    sudo .venv/bin/python benchmarks/sfcmon_engine.py

The kernel measures the time of both XDP programs (`kernel.bpf_stats_enabled`). All flows are of one
source, which is a heavy hitter or not: only packets of heavy hitters update the IBLT.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from sfcperf.active.pktgen_load import PktgenLoad
from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document

FLOWS = (1, 20_000, 40_000)
RATE_PPS = 300_000
ROUNDS = 3
EVALUATED = {"without heavy hitters": (1 << 32) - 1, "if all are": 0}
"""Packets before which there are no heavy hitters."""
PROGRAMS = {"forwarder": "forward", "sfcmon": "serve"}


def main() -> None:
    """Print the rows."""
    costs: dict[tuple[str, int], list[float]] = {}
    with statistics():
        for _ in range(ROUNDS):
            for flows in FLOWS:
                found = cost("forwarder", {}, flows)
                costs.setdefault(("forwarder", flows), []).append(found)
                for heavy, evaluated in EVALUATED.items():
                    knobs = {"threshold": 0, "threshold_eval": evaluated}
                    found = cost("sfcmon", knobs, flows)
                    costs.setdefault((heavy, flows), []).append(found)
    for flows in FLOWS:
        base = median(costs["forwarder", flows])
        added = {name: median(costs[name, flows]) - base for name in EVALUATED}
        listed = ", ".join(f"{ns:.0f} ns {name}" for name, ns in added.items())
        print(
            f"{flows:,} flows: forwarder {base:.0f} ns per packet; SFCMon adds {listed} (goal: 120)"
        )


def cost(type_: str, knobs: dict[str, float], flows: int) -> float:
    """Nanoseconds per packet of the function's program."""
    asked = with_defaults(PktgenLoad.parameters, {"frame_bytes": 64, "flows": flows})
    pktgen = PktgenLoad(asked)
    with chain(type_, knobs) as deployment, tempfile.TemporaryDirectory() as raw:
        try:
            pktgen.prepare(deployment, Path(raw))
            before = totals(PROGRAMS[type_])
            pktgen.offer(deployment, Path(raw), RATE_PPS, 1.0)
            after = totals(PROGRAMS[type_])
        finally:
            pktgen.cleanup()
    return (after[0] - before[0]) / (after[1] - before[1])


def totals(program: str) -> tuple[int, int]:
    """Run time (ns) and runs of the newest program of this name."""
    found = json.loads(output(["bpftool", "-j", "prog", "show", "name", program]))
    newest = max(found, key=lambda p: p["id"]) if isinstance(found, list) else found
    return newest.get("run_time_ns", 0), newest.get("run_cnt", 0)


@contextmanager
def statistics() -> Iterator[None]:
    """Have the kernel measure."""
    output(["sysctl", "-q", "-w", "kernel.bpf_stats_enabled=1"])
    try:
        yield
    finally:
        output(["sysctl", "-q", "-w", "kernel.bpf_stats_enabled=0"])


@contextmanager
def chain(type_: str, knobs: dict[str, float]) -> Iterator[Deployment]:
    """A chain of one function."""
    document = {
        "sfcperf": 1,
        "name": "sfcmon-engine",
        "infrastructure": {"driver": "local"},
        "topology": "T1",
        "vnfs": {"vnf": {"type": type_, "knobs": knobs}},
        "chain": {"functions": [{"vnf": "vnf"}]},
        "probes": [{"probe": "ping"}],
    }
    (scenario,) = load_document(document, Path()).scenarios
    with tempfile.TemporaryDirectory() as folder:
        state, raw = Path(folder, "state"), Path(folder, "raw")
        state.mkdir()
        raw.mkdir()
        journal = FileJournal(Path(folder, "journal.jsonl"))
        context = DriverContext(
            "bench",
            f"b{os.getpid()}",
            {"dataplane": "ebpf", "mtu": 1400, "wire_mtu": 1500},
            journal,
            state,
            raw,
            print,
        )
        driver = LocalDriver(context)
        try:
            yield driver.deploy(scenario)
        finally:
            driver.close()


def output(argv: list[str]) -> str:
    """Run to the end."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120).stdout


if __name__ == "__main__":
    main()
