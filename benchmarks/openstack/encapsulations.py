"""Chains with NSH beside chains of the same VMs with MPLS on OpenStack.

    make openstack-up
    playbooks/openstack/enter .venv/bin/python benchmarks/openstack/encapsulations.py

One run of `sfcperf`, whose variants are the encapsulations, so that both are measured back to back
in every round; a repetition is a round. Two chains of two functions:

- forwarders: with NSH by XDP behind `sfc-port-pair`, with MPLS by the kernel. So the difference is
  that of encapsulation and data plane.
- routers: by the kernel with both, with NSH behind `sfc-proxy`. So the difference is that of
  encapsulation and SFC proxy.

Ratios are those of pairs of one round. The run has to boot each VM once: pairs of both
encapsulations are made for the same VMs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run
from _shared.chain import run_of, workflow

from sfcperf.results.records import TrialRecord

CHAINS = {"forwarders": "forwarder", "routers": "router"}
"""Name of the chain -> type of its functions."""
LENGTH = 2
VMS = 2 + LENGTH * len(CHAINS)
METRICS = {
    "ping": ("rtt_us", 1.0, "us", "RTT"),
    "iperf3": ("rate_bps", 1e-6, "Mbit/s", "TCP goodput"),
}
"""Probe -> its metric, the factor to the unit that is shown, this unit, and a name."""
LONGEST_S = 3600.0


def encapsulations(run: Run) -> Iterator[Row]:
    """RTT and TCP goodput with NSH beside those with MPLS, and the VMs that were booted."""
    with run_of(_document(run), timeout_s=LONGEST_S, untrusted=True) as store:
        trials = [trial for trial in store.trials() if trial.samples]
    for chain in CHAINS:
        for probe, (metric, factor, unit, name) in METRICS.items():
            pairs = _pairs(trials, chain, probe, metric)
            nsh, mpls = ([value * factor for value in side] for side in pairs)
            yield Row(f"{chain}, {name}", nsh, unit, "MPLS", mpls, remarks=f"{len(nsh)} pairs")
    machines = {
        machine["server"]
        for trial in trials
        for machine in trial.deployment["facts"]["machines"].values()
    }
    doubted = sum(trial.status != "valid" for trial in trials)
    remarks = f"{len(trials)} trials of {2 * len(CHAINS)} scenarios, {doubted} of them untrusted"
    yield Row("VMs booted", len(machines), budget=Budget(high=VMS), remarks=remarks)


def _pairs(
    trials: list[TrialRecord], chain: str, probe: str, metric: str
) -> tuple[list[float], list[float]]:
    """Medians of the trials with NSH, and of those with MPLS in the same rounds."""
    found: dict[str, dict[int, float]] = {"NSH": {}, "MPLS": {}}
    for trial in trials:
        if (trial.probe, trial.scenario["chain"]) == (probe, chain):
            values = [float(s["value"]) for s in trial.samples if s["metric"] == metric]
            found[trial.scenario["variant"]][trial.round] = median(values)
    rounds = sorted(found["NSH"].keys() & found["MPLS"].keys())
    return [found["NSH"][n] for n in rounds], [found["MPLS"][n] for n in rounds]


def _document(run: Run) -> dict[str, Any]:
    image, network = run.parameters.image, run.parameters.network
    levels = [{"name": name, "value": [{"vnf": name, "count": LENGTH}]} for name in CHAINS]
    return workflow(
        infrastructure={
            "driver": "openstack", "config": {"image": image, "management_network": network},
        },
        topology="T1",
        vnfs={name: {"type": kind} for name, kind in CHAINS.items()},
        chain={"functions": "${chain}", "classifier": {"match": {"ip_proto": "any"}}},
        factors={"chain": levels},
        variants={
            "MPLS": {"chain.encapsulation": "mpls"}, "NSH": {"chain.encapsulation": "nsh-eth"},
        },
        probes=[
            {"probe": "ping", "count": 50, "interval_s": 0.05},
            {"probe": "iperf3", "protocol": "tcp", "duration_s": 3},
        ],
        design={"rounds": run.repetitions, "warmup_rounds": 0},
        publish=[],
    )  # fmt: skip


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {encapsulations: 6},
        {
            "image": Parameter("sfcperf-guest", "image of the guests"),
            "network": Parameter("management", "management network"),
        },
    ).main()
