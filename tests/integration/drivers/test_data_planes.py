"""The proof that data planes carry the packets: true of ours, and false of a bystander."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.network.echoes import ping
from support.records.scenarios import scenario

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.errors import DeploymentError
from sfcperf.hosts.procfs import process_stat
from sfcperf.management.deployment import Deployment, ServiceFunction

pytestmark = pytest.mark.root


@pytest.mark.parametrize(
    ("kind", "knobs", "method"),
    [
        ("forwarder", {"engine": "userspace"}, "process"),
        ("forwarder", {"engine": "xdp"}, "counters"),
        ("ids", {}, "process"),
        ("delay", {}, "process"),
        ("heavy_hitter", {"engine": "native"}, "process"),
        ("nsh_firewall", {}, "counters"),
        ("router", {}, "counters"),
        ("nat", {}, "counters"),
    ],
)
def test_each_data_plane_is_proven_and_works_afterwards(
    driver: LocalDriver, kind: str, knobs: dict[str, object], method: str
) -> None:
    chain = scenario([kind, "router"], knobs=knobs)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes == {f"{kind}-1": method, "router-2": "counters"}
    for pid in deployment.functions[0].data_plane_pids:
        stat = deployment.functions[0].host.read_text(f"/proc/{pid}/stat")
        assert process_stat(stat).state != "T"
    assert ping(deployment, 3) == 3


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_packets_that_cross_a_stopped_process_prove_nothing(driver: LocalDriver) -> None:
    """As with a proxy whose redirection is missing: the kernel forwards past it."""
    chain = scenario(["router"])
    deployment = driver.deploy(chain)
    [router] = deployment.functions
    bystander = router.host.spawn(["sleep", "60"])
    proof = driver.prove_traversal(
        _with(deployment, replace(router, data_plane_pids=(bystander.pid,))), chain
    )
    assert not proof.proven
    assert proof.data_planes == {"router-1": "process"}
    [problem] = proof.problems
    assert problem.startswith("router-1: packets cross it while its process is stopped")
    assert process_stat(router.host.read_text(f"/proc/{bystander.pid}/stat")).state != "T"
    bystander.stop()


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_counters_that_do_not_rise_prove_nothing(driver: LocalDriver) -> None:
    chain = scenario(["router"])
    deployment = driver.deploy(chain)
    [router] = deployment.functions
    still = {"received": 100, "forwarded": 100, "dropped": 0}
    proof = driver.prove_traversal(
        _with(deployment, replace(router, counters=lambda: still)), chain
    )
    assert (proof.proven, len(proof.problems)) == (False, 1)
    assert proof.problems[0].startswith("router-1 counted 0 of 3 packets")


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
def test_a_process_that_has_ended_is_an_error(driver: LocalDriver) -> None:
    chain = scenario(["router"])
    deployment = driver.deploy(chain)
    [router] = deployment.functions
    gone = router.host.spawn(["true"])
    gone.wait(10)
    with pytest.raises(DeploymentError):
        driver.prove_traversal(
            _with(deployment, replace(router, data_plane_pids=(gone.pid,))), chain
        )


def _with(deployment: Deployment, function: ServiceFunction) -> Deployment:
    return replace(deployment, functions=(function,))
