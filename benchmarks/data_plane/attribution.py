"""Where the time of a chain goes with each data plane: how much of it is the VNFs', and how much
the measurement explains.

    sudo .venv/bin/python benchmarks/data_plane/attribution.py

Three NSH-unaware VNFs (firewall of 100 rules, NAT, router), UDP at 50 Mbit/s, of which pptmon
times 200 packets per second. Runs and attribution are those of `sfcperf run`, the data planes in
turns. End to end is, with `ebpf`, from the SFF's first receipt of a packet to its last sending.
`ovs` does not tell these: there it is from the first VNF's ingress to the last one's egress, and
nothing explains the rest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf.results.store import RunFile, RunStore

SFCPERF = str(Path(sys.executable).with_name("sfcperf"))
PLANES = ("ebpf", "ovs")
ROUNDS = 5
GOAL_VNFS, GOAL_EXPLAINED = 0.5, 0.95


@dataclass(frozen=True)
class Shares:
    """Of the end-to-end time, forward direction."""

    end_to_end_us: float
    vnfs_us: float
    parts_us: Mapping[str, float]
    """SFFs and links, where they are measured."""

    @property
    def vnfs(self) -> float:
        """Share of the VNFs."""
        return self.vnfs_us / self.end_to_end_us

    @property
    def explained(self) -> float:
        """Share of VNFs, SFFs and links."""
        return (self.vnfs_us + sum(self.parts_us.values())) / self.end_to_end_us


def main() -> None:
    """Print a line per data plane, and the goals."""
    found: dict[str, list[Shares]] = {plane: [] for plane in PLANES}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for plane, shares in found.items():
                shares.append(measured(Path(folder), plane))
    for plane, shares in found.items():
        print(f"{plane}: {told(shares)}")
    ratio = median(s.end_to_end_us for s in found["ovs"]) / median(
        s.end_to_end_us for s in found["ebpf"]
    )
    print(
        f"the chain takes {ratio:.0f} times as long with ovs; goals with ebpf: VNFs at least "
        f"{GOAL_VNFS:.0%}, explained at least {GOAL_EXPLAINED:.0%}"
    )


def told(shares: list[Shares]) -> str:
    """Medians of the runs, with the least and the largest share of the VNFs."""
    vnfs = sorted(one.vnfs for one in shares)
    parts = ", ".join(
        f"{name} {median(one.parts_us[name] for one in shares):.1f} us"
        for name in shares[0].parts_us
    )
    times = f"VNFs {median(one.vnfs_us for one in shares):.1f} us"
    return (
        f"end to end {median(one.end_to_end_us for one in shares):.1f} us, "
        f"{', '.join(filter(None, (times, parts)))}: VNFs {median(vnfs):.0%} of it ({vnfs[0]:.0%} "
        f"to {vnfs[-1]:.0%} in {len(vnfs)} runs), explained "
        f"{median(one.explained for one in shares):.0%}"
    )


def measured(folder: Path, plane: str) -> Shares:
    """A run and its attribution."""
    file = folder / "workflow.json"
    file.write_text(json.dumps(workflow(plane)))
    argv = [SFCPERF, "run", str(file), "--quiet", "--results", str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{plane}: the run ended with {done.returncode}: {done.stderr}")
    document = RunStore(Path(done.stdout.strip())).document(RunFile.ATTRIBUTION)
    assert document is not None, "a run with pptmon has an attribution"
    (path,) = (path for path in document["paths"] if path["path"] == "forward")
    return Shares(
        path["end_to_end"]["mean_us"],
        path["sum"]["mean_us"],
        {part["name"]: part["time"]["mean_us"] for part in path["parts"]},
    )


def workflow(plane: str) -> dict[str, Any]:
    """The chain on a data plane."""
    monitors: list[dict[str, Any]] = [
        {"monitor": "pptmon", "rate_hz": 200, "metrics": ["time", "delay"]}
    ]
    if plane == "ebpf":
        monitors.append({"monitor": "sff"})
    return {
        "sfcperf": 1,
        "name": "attribution",
        "infrastructure": {"driver": "local", "config": {"dataplane": plane}},
        "topology": "T1",
        "vnfs": {
            "firewall": {"type": "firewall", "knobs": {"rules": 100}},
            "nat": {"type": "nat"},
            "router": {"type": "router"},
        },
        "chain": {"functions": [{"vnf": name} for name in ("firewall", "nat", "router")]},
        "probes": [{"probe": "iperf3", "protocol": "udp", "rate_bps": 50_000_000, "duration_s": 3}],
        "monitors": monitors,
        "design": {"rounds": 1, "warmup_rounds": 0},
        "publish": [],
    }


if __name__ == "__main__":
    main()
