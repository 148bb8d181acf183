"""NSH towards functions in VMs, by networking-sfc: what functions get, judged by tshark."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import CloudLab, workflow

from sfcperf.results.store import RunStore

pytestmark = [pytest.mark.server, pytest.mark.root]

PROBES = [
    {"probe": "ping", "count": 20, "interval_s": 0.1},
    {"probe": "iperf3", "protocol": "tcp", "duration_s": 2},
]


def run(lab: CloudLab) -> list[Any]:
    """Trials of a run. An emulated cloud may let a tool come short of CPU: such trials are
    untrusted."""
    assert lab.run() in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    for trial in trials:
        assert trial.deployment["traversal"]["proven"], lab.said
    losses = [
        sample["value"]
        for trial in trials
        for sample in trial.samples
        if sample["metric"] == "loss_ratio"
    ]
    assert losses, "no ping measured its losses"
    assert not any(losses), losses
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
    return trials


def service_indexes(pcap: Path) -> set[str]:
    """SIs of the frames in a capture, as tshark reads them."""
    argv = ["tshark", "-r", str(pcap), "-Y", "nsh", "-T", "fields", "-e", "nsh.si"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    return set(done.stdout.split())


def test_a_chain_of_both_kinds_of_functions(
    cloud: Connection, new_lab: Callable[..., CloudLab]
) -> None:
    """The forwarder gets NSH, and the firewall plain IP from the SFC proxy in its VM. The same VMs
    then make a chain with MPLS, in which both get plain IP."""
    document = workflow(cloud.config.name)
    document["vnfs"]["fw"] = {"type": "firewall"}
    document["chain"] = {
        "functions": [{"vnf": "fwd"}, {"vnf": "fw"}],
        "encapsulation": "${encapsulation}",
    }
    lab = new_lab({**document, "probes": PROBES, "factors": {"encapsulation": ["auto", "mpls"]}})
    trials = run(lab)
    by_scenario = {trial.scenario_id: trial.deployment for trial in trials}
    nsh, mpls = by_scenario["s000"], by_scenario["s001"]
    assert (nsh["encapsulation"], mpls["encapsulation"]) == ("nsh-eth", "mpls")
    assert nsh["spi"] > 0
    assert mpls["spi"] is None
    machines = [{m["server"] for m in d["facts"]["machines"].values()} for d in (nsh, mpls)]
    assert machines[0] == machines[1]
    captures = {
        name: {pcap.stem: service_indexes(pcap) for pcap in folder.glob("*.pcap")}
        for name in ("s000", "s001")
        for folder in lab.run_folder.glob(f"raw/driver/traversal-*-{name}")
    }
    # Forward 255 and 254; back, the firewall has had 255.
    assert captures["s000"] == {
        "client": set(), "fwd-1": {"255", "254", "253"}, "fw-1": set(), "server": set(),
    }  # fmt: skip
    assert captures["s001"] == {name: set() for name in captures["s000"]}


@pytest.mark.exhaustive
def test_all_functions_that_take_nsh(cloud: Connection, new_lab: Callable[..., CloudLab]) -> None:
    """Each alone, symmetric and not, and together."""
    document = workflow(cloud.config.name)
    document["vnfs"] = {
        "user": {"type": "forwarder", "knobs": {"engine": "userspace"}},
        "fw": {"type": "nsh_firewall"},
        "ids": {"type": "ids"},
        "mon": {"type": "sfcmon"},
    }
    chains = [[{"vnf": name}] for name in document["vnfs"]]
    together = [{"vnf": name} for name in document["vnfs"]]
    values = [
        {"name": f"chain-{number}", "value": chain}
        for number, chain in enumerate([*chains, together])
    ]
    document["chain"] = {"functions": "${chain}", "reverse": "${reverse}"}
    factors = {"chain": values, "reverse": ["symmetric", "bypass"]}
    trials = run(new_lab({**document, "probes": PROBES[:1], "factors": factors}))
    assert len(trials) == 2 * len(values)
    for trial in trials:
        assert trial.deployment["encapsulation"] == "nsh-eth"
        assert trial.status == "valid", trial.reasons


@pytest.mark.exhaustive
def test_an_mtu_without_room_for_nsh(cloud: Connection, new_lab: Callable[..., CloudLab]) -> None:
    """It shows when the data network is made; no machine is."""
    document = workflow(cloud.config.name, mtu=1500)
    document["design"] |= {"max_retries": 0}
    lab = new_lab(document)
    assert lab.run() == 1, lab.said
    assert "send packets of up to 1500 bytes, which become 1538 with NSH" in lab.said
    assert "/infrastructure/config/mtu" in lab.said
    assert "set it to 1462 or less" in lab.said
    trials = RunStore(lab.run_folder).trials()
    assert [(trial.status, dict(trial.deployment)) for trial in trials] == [("failed", {})] * 2
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said
