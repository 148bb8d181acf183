"""The engine's own share of a run: wall time outside deployment, warm-up and measurement.

Trials of 2 s on the local driver; budget 15 %. Analysis and report count as the engine's.

    sudo .venv/bin/python benchmarks/framework/engine_overhead.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGET = 0.15
NOT_THE_ENGINE = ("deploying", "verifying", "teardown", "warmup", "measuring")
"""Phases of run.json: building, proving and removing the chain is deployment."""


def main() -> None:
    """Run it as a user would, and print the share and the budget."""
    with tempfile.TemporaryDirectory() as folder:
        workflow = Path(folder) / "overhead.json"
        workflow.write_text(json.dumps(_document()))
        command = [str(Path(sys.executable).with_name("sfcperf")), "run", str(workflow)]
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--quiet", "--results", folder], check=True, stdout=subprocess.PIPE
        )
        wall = time.perf_counter() - begin
        phases = json.loads((Path(done.stdout.decode().strip()) / "run.json").read_text())["phases"]
    for name, seconds in phases.items():
        print(f"{name:12s} {seconds:6.2f} s")
    share = 1 - sum(phases.get(name, 0.0) for name in NOT_THE_ENGINE) / wall
    print(f"wall time {wall:.1f} s, the engine's share {share:.1%} (budget {BUDGET:.0%})")
    if share > BUDGET:
        raise SystemExit("over the budget")


def _document() -> dict[str, object]:
    udp = {"probe": "iperf3", "protocol": "udp", "duration_s": 2, "rate_bps": 10_000_000}
    return {
        "sfcperf": 1,
        "name": "overhead",
        "vnfs": {"fwd": {"type": "forwarder"}},
        "chain": {"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
        "factors": {"chain_length": [0, 2]},
        "probes": [
            {**udp, "name": "slow"},
            {**udp, "name": "fast", "rate_bps": 20_000_000},
            {"probe": "ping", "count": 200, "interval_s": 0.01},
        ],
        "monitors": [{"monitor": "cpu"}, {"monitor": "memory"}, {"monitor": "interfaces"}],
        "design": {"rounds": 3, "warmup_rounds": 1},
    }


if __name__ == "__main__":
    main()
