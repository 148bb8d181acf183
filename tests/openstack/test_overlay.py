"""Chains by SFFs in the VMs: on an ordinary network, over VXLAN-GPE, with port security."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openstack.connection import Connection
from support.cloud.cloud_runs import CloudLab, workflow

from sfcperf.cli.shipped import shipped
from sfcperf.results.store import RunStore
from sfcperf.workflow.profile import read_profile

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.exhaustive]

CHAINS = {"none": [], "mixed": [{"vnf": "fwd"}, {"vnf": "fw"}]}
"""The forwarder takes NSH, the firewall plain IP."""


def asked(admin: Connection) -> dict[str, Any]:
    """Over three hypervisors where there are so many."""
    hosts = read_profile(shipped("profiles")["openstack-nodes"]).config["hosts"]
    several = set(hosts.values()) <= {each.name for each in admin.compute.hypervisors()}
    document = workflow(
        "sfcperf-admin", chaining="overlay", **({"hosts": hosts} if several else {})
    )
    document["vnfs"]["fw"] = {"type": "firewall"}
    named = [{"name": name, "value": chain} for name, chain in CHAINS.items()]
    return {
        **document,
        "topology": "T3" if several else "T1",
        "chain": {"functions": "${chain}", "reverse": "${reverse}"},
        "factors": {"chain": named, "reverse": ["symmetric", "bypass"]},
        "probes": [
            {"probe": "ping", "count": 20, "interval_s": 0.1},
            {"probe": "iperf3", "protocol": "tcp", "duration_s": 2},
        ],
        "monitors": [{"monitor": "sff", "interval_s": 1}],
    }


def test_a_run(admin: Connection, new_lab: Callable[..., CloudLab]) -> None:
    """With the same VMs for all chains. Between them the cloud lets VXLAN-GPE pass, and nothing
    else; networking-sfc has no part in it."""
    lab = new_lab(asked(admin))
    command = lab.start()
    lab.wait_until(lambda: lab.trials, command)
    tag = lab.manifest["sessions"][0]["tag"]
    ports = [p for p in admin.network.ports() if p.name.startswith(f"sfcperf-{tag}-")]
    data = [port for port in ports if port.name.endswith("-data")]
    assert len(data) == len(ports) // 2 > 1
    assert all(port.is_port_security_enabled for port in data)
    assert not any(port.allowed_address_pairs for port in data)
    [group] = {group for port in data for group in port.security_group_ids}
    rules = admin.network.security_group_rules(security_group_id=group, direction="ingress")
    assert [(r.protocol, r.port_range_min, r.port_range_max) for r in rules] == [
        ("udp", 4790, 4790)
    ]
    assert not [*admin.network.sfc_port_pairs(name=f"sfcperf-{tag}")]
    assert command.wait(timeout=600) in (0, 1), lab.said
    judge(lab)
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


def judge(lab: CloudLab) -> None:
    """What the results say, and what tshark reads in the captures of the proof."""
    trials = RunStore(lab.run_folder).trials()
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    servers: dict[str, set[str]] = {}
    for trial in trials:
        deployment = trial.deployment
        facts, traversal = deployment["facts"], deployment["traversal"]
        assert traversal["proven"], lab.said
        assert "without captures, the SFFs' counters" in traversal["method"]
        assert set(facts["underlay"]) == set(facts["machines"])
        assert {card["xdp"] for card in facts["underlay"].values()} <= {"native", "generic"}
        for name, machine in facts["machines"].items():
            servers.setdefault(name, set()).add(machine["server"])
        samples = [s["value"] for s in trial.samples if s["metric"] == "loss_ratio"]
        assert not any(samples), samples
        if facts["chain"]:
            assert deployment["encapsulation"] == "nsh-eth"
            assert deployment["spi"] > 0
        else:
            assert deployment["encapsulation"] == "none"
    assert {len(ids) for ids in servers.values()} == {1}
    levels = {t.scenario_id: (t.scenario["chain"], t.scenario["reverse"]) for t in trials}
    assert len(levels) == 4
    for scenario_id, (chain, reverse) in levels.items():
        [folder] = lab.run_folder.glob(f"raw/driver/traversal-*-{scenario_id}")
        seen = {pcap.stem: service_indexes(pcap) for pcap in folder.glob("*.pcap")}
        # Forward 255 and 254; back, the firewall has had 255.
        nsh = {"255", "254"} | ({"253"} if reverse == "symmetric" else set())
        functions = {"fwd-1": nsh, "fw-1": set()} if chain == "mixed" else {}
        assert seen == {"client": set(), "server": set(), **functions}


def service_indexes(pcap: Path) -> set[str]:
    """SIs of the frames in a capture, as tshark reads them."""
    argv = ["tshark", "-r", str(pcap), "-Y", "nsh", "-T", "fields", "-e", "nsh.si"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    return set(done.stdout.split())
