"""Programs that get NSH frames as they are, in chains with other functions."""

from __future__ import annotations

from typing import Any

import pytest
from support.network.echoes import ping
from support.network.transfers import transfer
from support.records.scenarios import scenario
from support.vnfs.nsh_programs import PLACES, hop

from sfcperf.drivers.local.driver import LocalDriver

pytestmark = pytest.mark.root


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("encapsulation", PLACES)
@pytest.mark.parametrize(
    "dataplane",
    ["ebpf", "ovs", pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.exhaustive])],
    indirect=True,
)
def test_it_is_proven_and_counted(driver: LocalDriver, encapsulation: Any) -> None:
    """Beside functions that get plain IP: captures show its SPI and SI, and no packet crosses while
    it is stopped."""
    chain = scenario(
        ["program", "router", "program"], encapsulation=encapsulation, knobs=hop(encapsulation)
    )
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert proof.data_planes == {
        "program-1": "process",
        "router-2": "counters",
        "program-3": "process",
    }
    assert [(seen.si, seen.si_after) for seen in proof.forward] == [
        (255, 254),
        (254, 253),
        (253, 252),
    ]
    first = deployment.functions[0]
    assert (first.nsh_aware, first.interfaces) == (True, ("eth0",))
    before = first.counters()
    assert ping(deployment, 5) == 5
    # An MTU of 1400, so that the wire has room for the NSH.
    assert ping(deployment, 5, "-M", "do", "-s", "1372") == 5
    rose = {name: count - before[name] for name, count in first.counters().items()}
    assert (rose["received"], rose["forwarded"], rose["dropped"]) == (20, 20, 0)
    assert transfer(deployment, "-n", "4M", "-w", "256K")["bytes"] > 3 << 20
    assert driver.problems(deployment) == []


@pytest.mark.parametrize("dataplane", ["ebpf"], indirect=True)
@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("step", [0, 2])
def test_a_wrong_si_is_told(driver: LocalDriver, step: int) -> None:
    chain = scenario(["program", "router"], knobs=hop("nsh-eth", env={"STEP": step}))
    proof = driver.prove_traversal(driver.deploy(chain), chain)
    assert not proof.proven
    assert any(problem.startswith("program-1 ") for problem in proof.problems)
