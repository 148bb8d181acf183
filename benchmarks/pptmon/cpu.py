"""CPU time of the monitor pptmon at three routers on two machines (T2), 10 samples per second.

Budgets, of one CPU and of all its processes together: 2 % while no packets come, 5 % while it
samples. What it takes to start and end is told apart: it is over when a probe begins.

    sudo .venv/bin/python benchmarks/pptmon/cpu.py
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from _pptmon import bpf
from _pptmon.cost import programs

from sfcperf import plugins
from sfcperf.management.deployment import Deployment
from sfcperf.passive.pptmon import PptmonMonitor
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.chain import local_driver, workflow

ROUNDS = 5
SECONDS = 10
LOADS: Mapping[str, Mapping[str, Any] | None] = {
    "no packets": None,
    "datagrams of 100 bytes, 100 per second": {
        "protocol": "udp",
        "rate_bps": 80_000,
        "payload_bytes": 100,
    },
    "TCP as fast as it goes": {"protocol": "tcp"},
}
"""Parameters of the probe iperf3."""
BUDGETS = {True: 0.02, False: 0.05}
"""CPUs, by whether no packets come."""
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Use:
    """CPU time in one trial."""

    start_s: float
    """Of the processes, until all of them were ready."""
    cores: float
    """CPUs that the processes used while the probe measured."""
    programs_cores: float
    """The same, of the BPF programs; the kernel's two readings of the clock per run included."""
    samples: float


def main() -> None:
    """Print the figures and the budgets."""
    found: dict[str, list[Use]] = {load: [] for load in LOADS}
    with bpf.statistics(), local_driver() as driver:
        deployment = driver.deploy(_scenario())
        for _ in range(ROUNDS):
            for load, uses in found.items():
                uses.append(_measured(deployment, LOADS[load], driver.context.raw_dir))
    print(f"Linux {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs")
    over = []
    for load, uses in found.items():
        budget = BUDGETS[LOADS[load] is None]
        cores = median(use.cores for use in uses)
        print(
            f"{load}: three processes use {cores:.2%} of a CPU (budget {budget:.0%}; "
            f"{min(u.cores for u in uses):.2%} to {max(u.cores for u in uses):.2%} in {ROUNDS} "
            f"trials), their BPF programs {median(u.programs_cores for u in uses):.3%}; "
            f"{median(u.samples for u in uses):.0f} samples in {SECONDS} s"
        )
        if cores > budget:
            over.append(load)
    starts = [use.start_s for uses in found.values() for use in uses]
    print(f"to start, the three take {median(starts) * 1e3:.0f} ms of CPU time per trial")
    if over:
        raise SystemExit(f"over the budget: {'; '.join(over)}")


def _measured(deployment: Deployment, load: Mapping[str, Any] | None, raw: Path) -> Use:
    parameters = with_defaults(PptmonMonitor.parameters, {"rate_hz": 10})
    monitor = PptmonMonitor(parameters)
    probe = None
    if load is not None:
        kind = plugins.load("probe", "iperf3")
        probe = kind(with_defaults(kind.parameters, {**load, "duration_s": SECONDS}))
        probe.prepare(deployment, raw)
    try:
        monitor.start(deployment, raw)
        try:
            pids = [instance.process.pid for instance in monitor._instances]
            begin_s, started_s, ran_s = time.perf_counter(), _cpu_s(pids), _programs_s(pids)
            if probe is None:
                time.sleep(SECONDS)
            else:
                probe.measure(deployment, raw)
            took_s = time.perf_counter() - begin_s
            used_s, run_s = _cpu_s(pids) - started_s, _programs_s(pids) - ran_s
        finally:
            said = monitor.stop()
    finally:
        if probe is not None:
            probe.cleanup()
    samples = sum(o.value for o in said if o.metric == "pptmon_samples")
    return Use(started_s, used_s / took_s, run_s / took_s, samples)


def _cpu_s(pids: list[int]) -> float:
    """Of processes of one thread each, to the nanosecond (Linux's sched-stats.rst)."""
    texts = [Path(f"/proc/{pid}/schedstat").read_text() for pid in pids]
    return sum(int(text.split()[0]) for text in texts) / _NS_PER_S


def _programs_s(pids: list[int]) -> float:
    return sum(int(p.get("run_time_ns", 0)) for p in programs(set(pids))) / _NS_PER_S


def _scenario() -> Any:
    document = workflow(
        topology="T2",
        vnfs={"router": {"type": "router"}},
        chain={"functions": [{"vnf": "router", "count": 3}]},
        probes=[{"probe": "iperf3"}],
    )
    (scenario,) = load_document(document, Path()).scenarios
    return scenario


if __name__ == "__main__":
    main()
