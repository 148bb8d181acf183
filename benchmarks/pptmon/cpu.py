"""CPU time of the monitor pptmon at three routers on two machines (T2), 10 samples per second.

Budgets, of one CPU and of all its processes together: 2 % while no packets come, 5 % while it
samples. What it takes to start and end is told apart: it is over when a probe begins.

    sudo .venv/bin/python benchmarks/pptmon/cpu.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _pptmon.cost import programs
from _runner import Benchmark, Budget, Row, Run
from _shared import bpf
from _shared.bpf_time import spent
from _shared.chain import deployed, workflow
from _shared.cpu_time import cpu_s

from sfcperf import plugins
from sfcperf.management.deployment import Deployment
from sfcperf.passive.pptmon import PptmonMonitor
from sfcperf.workflow.defaults import with_defaults

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


def processes(run: Run) -> Iterator[Row]:
    """Of the monitor's three processes, with each load."""
    chain = {"functions": [{"vnf": "router", "count": 3}]}
    document = workflow(topology="T2", vnfs={"router": {"type": "router"}}, chain=chain)
    with (
        bpf.statistics(),
        deployed(document, "ebpf") as deployment,
        tempfile.TemporaryDirectory() as raw,
    ):
        found = run.in_turn(LOADS, lambda load: _measured(deployment, load, Path(raw)))
    for load, uses in found.items():
        remarks = (
            f"their BPF programs {median(u.programs_cores for u in uses):.3%}; "
            f"{median(u.samples for u in uses):.0f} samples in {SECONDS} s"
        )
        budget = Budget(high=BUDGETS[LOADS[load] is None])
        yield Row(f"{load}: CPUs", [u.cores for u in uses], "%", budget=budget, remarks=remarks)
    starts = [use.start_s * 1e3 for uses in found.values() for use in uses]
    yield Row("to start", starts, "ms")


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
            begin_s, started_s, ran_s = time.perf_counter(), cpu_s(*pids), _programs_s(pids)
            if probe is None:
                time.sleep(SECONDS)
            else:
                probe.measure(deployment, raw)
            took_s = time.perf_counter() - begin_s
            used_s, run_s = cpu_s(*pids) - started_s, _programs_s(pids) - ran_s
        finally:
            said = monitor.stop()
    finally:
        if probe is not None:
            probe.cleanup()
    samples = sum(o.value for o in said if o.metric == "pptmon_samples")
    return Use(started_s, used_s / took_s, run_s / took_s, samples)


def _programs_s(pids: list[int]) -> float:
    return sum(spent(program).time_ns for program in programs(set(pids))) / 1e9


if __name__ == "__main__":
    Benchmark(__doc__, {processes: 5}).main()
