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

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sfcperf.results.store import RunFile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.chain import run_of

LEAST = {"ebpf": (0.5, 0.95), "ovs": (None, None)}
"""Data plane -> shares of the VNFs, and of all that is explained."""


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


def attribution(run: Run) -> Iterator[Row]:
    """Runs on both data planes."""
    found = run.in_turn(list(LEAST), measured)
    for plane, shares in found.items():
        parts = ", ".join(
            f"{name} {median(one.parts_us[name] for one in shares):.1f} us"
            for name in shares[0].parts_us
        )
        vnfs, explained = (None if low is None else Budget(low=low) for low in LEAST[plane])
        yield Row(f"{plane}, VNFs", [one.vnfs_us for one in shares], "us", remarks=parts)
        yield Row(f"{plane}, share of the VNFs", [one.vnfs for one in shares], "%", budget=vnfs)
        yield Row(f"{plane}, explained", [one.explained for one in shares], "%", budget=explained)
    ovs, ebpf = ([one.end_to_end_us for one in found[plane]] for plane in ("ovs", "ebpf"))
    yield Row("ovs, end to end", ovs, "us", "ebpf", ebpf)


def measured(plane: str) -> Shares:
    """A run and its attribution."""
    with run_of(workflow(plane)) as store:
        document = store.document(RunFile.ATTRIBUTION)
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
    Benchmark(__doc__, {attribution: 5}).main()
