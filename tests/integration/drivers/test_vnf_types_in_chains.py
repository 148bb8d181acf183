"""Every VNF type of the kernel in real chains: ping, iperf3, the traversal proof, counters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.scenarios import scenario, topology

from sfcperf.active.server import start_server
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.management.deployment import Deployment

pytestmark = pytest.mark.root

PINGS = 5


def ping(deployment: Deployment) -> int:
    """Replies to pings from client to server."""
    argv = ["ping", "-n", "-c", str(PINGS), "-i", "0.02", "-W", "1", deployment.server.address]
    text = deployment.client.host.run(argv, timeout_s=20, check=False).text
    return text.count("bytes from")


def transfer(deployment: Deployment, *options: str) -> int:
    """Bytes that a small iperf3 transfer received."""
    log = deployment.server.host.workdir / "iperf3-server.txt"
    argv = ["iperf3", "-s", "-1", "--bind", deployment.server.address]
    server = start_server(deployment.server.host, argv, port=5201, stdout=log, stderr=log)
    argv = ["iperf3", "-c", deployment.server.address, "--json", *options]
    answer = json.loads(deployment.client.host.run(argv, timeout_s=20).stdout)
    server.stop()
    return int(answer["end"]["sum_received"]["bytes"])


def carries_traffic(driver: LocalDriver, deployment: Deployment, chain: Any) -> None:
    """Proven traversal, pings, TCP both ways and UDP; nothing is reported as wrong."""
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert ping(deployment) == PINGS
    assert transfer(deployment, "-n", "4M") > 1024 * 1024
    assert transfer(deployment, "-n", "4M", "-R") > 1024 * 1024
    assert transfer(deployment, "-u", "-b", "4M", "-n", "64K") > 32 * 1024
    assert driver.problems(deployment) == []


@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize("engine", ["nftables", "iptables", "iptables-legacy"])
def test_firewall(driver: LocalDriver, engine: str, encapsulation: str) -> None:
    chain = scenario(
        ["router", "firewall"],
        where=topology("T2"),
        encapsulation=encapsulation,  # type: ignore[arg-type]
        knobs={"engine": engine, "rules": 1000},
    )
    deployment = driver.deploy(chain)
    carries_traffic(driver, deployment, chain)
    counters = deployment.functions[1].counters()
    assert counters["passed_all_rules"] == counters["forwarded"] > 1000
    assert counters["dropped_by_rules"] == 0


@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
def test_nat(driver: LocalDriver, encapsulation: str) -> None:
    chain = scenario(["nat", "router", "nat"], encapsulation=encapsulation)  # type: ignore[arg-type]
    deployment = driver.deploy(chain)
    carries_traffic(driver, deployment, chain)
    for position in (0, 2):
        counters = deployment.functions[position].counters()
        assert counters["translated_source"] > 1000
        # The proof's packets alone belong to no connection: 3 each way.
        assert counters["translated_source"] + counters["untracked"] == counters["forwarded"]
        assert counters["untracked"] == 6
