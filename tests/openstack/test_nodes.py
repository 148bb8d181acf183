"""A chain over several hypervisors, which `make openstack-up NODES=3` starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.cloud.cloud_runs import CloudLab, workflow

from sfcperf.cli.shipped import shipped
from sfcperf.results.store import RunStore
from sfcperf.workflow.profile import read_profile

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.exhaustive]


@pytest.fixture
def hosts(admin: Any) -> dict[str, str]:
    """Node of the topology -> hypervisor, as the shipped profile has them."""
    known: Sequence[str] = [each.name for each in admin.compute.hypervisors()]
    wanted: dict[str, str] = read_profile(shipped("profiles")["openstack-nodes"]).config["hosts"]
    if not set(wanted.values()) <= set(known):
        pytest.skip(f"the cloud has the hypervisors {known}: make openstack-up NODES=3 starts more")
    return wanted


def test_nsh_crosses_hypervisors(hosts: dict[str, str], new_lab: Callable[..., CloudLab]) -> None:
    """In T2 the functions are on another hypervisor than the endpoints, in T3 on a third one."""
    document = workflow("sfcperf-admin", hosts=hosts)
    document["vnfs"]["fw"] = {"type": "firewall"}
    document |= {
        "topology": "${topology}",
        "chain": {"functions": [{"vnf": "fwd"}, {"vnf": "fw"}]},
        "factors": {"topology": ["T1", "T2", "T3"]},
        "probes": [{"probe": "ping", "count": 20, "interval_s": 0.1}],
    }
    lab = new_lab(document)
    assert lab.run() in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    plan = RunStore(lab.run_folder).plan()
    for trial in trials:
        deployment = trial.deployment
        assert (deployment["encapsulation"], deployment["traversal"]["proven"]) == ("nsh-eth", True)
        resolved = plan["resolved"][trial.scenario_id]
        nodes = {each["name"]: each["node"] for each in resolved["chain"]["functions"]}
        nodes |= {end: resolved[end]["node"] for end in ("client", "server")}
        machines = deployment["facts"]["machines"]
        assert {name: m["hypervisor"] for name, m in machines.items()} == {
            name: hosts[node] for name, node in nodes.items()
        }
