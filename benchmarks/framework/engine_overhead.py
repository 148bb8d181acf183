"""The engine's own share of a run: wall time outside deployment, warm-up and measurement.

Trials of 2 s on the local driver. Analysis and report count as the engine's.

    sudo .venv/bin/python benchmarks/framework/engine_overhead.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.chain import run_of, workflow

NOT_THE_ENGINE = ("deploying", "verifying", "teardown", "warmup", "measuring")
"""Phases of run.json: building, proving and removing the chain is deployment."""
UDP = {"probe": "iperf3", "protocol": "udp", "duration_s": 2, "rate_bps": 10_000_000}
DOCUMENT = workflow(
    vnfs={"fwd": {"type": "forwarder"}},
    chain={"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
    factors={"chain_length": [0, 2]},
    probes=[
        {**UDP, "name": "slow"},
        {**UDP, "name": "fast", "rate_bps": 20_000_000},
        {"probe": "ping", "count": 200, "interval_s": 0.01},
    ],
    monitors=[{"monitor": "cpu"}, {"monitor": "memory"}, {"monitor": "interfaces"}],
    design={"rounds": 3, "warmup_rounds": 1},
)


def overhead(run: Run) -> Iterator[Row]:
    """Runs as a user would start them."""
    found = run.in_turn({"": _share})[""]
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found[-1][1].items())
    yield Row(
        "the engine's share", [share for share, _ in found], "%",
        budget=Budget(high=0.15), remarks=f"the last run: {phases}",
    )  # fmt: skip


def _share() -> tuple[float, Mapping[str, float]]:
    """And the phases of the run."""
    begin = time.perf_counter()
    with run_of(DOCUMENT) as store:
        wall_s = time.perf_counter() - begin
        phases = store.manifest()["phases"]
    return 1 - sum(phases.get(name, 0.0) for name in NOT_THE_ENGINE) / wall_s, phases


if __name__ == "__main__":
    Benchmark(__doc__, {overhead: 1}).main()
