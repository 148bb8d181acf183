"""Rules by REST in real chains: what reaches the server, and what comes back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.network.echoes import ping
from support.network.wires import eventually
from support.records.scenarios import scenario
from support.vnfs.rule_client import RuleClient, rule_client

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Deployment

pytestmark = pytest.mark.root

KINDS: dict[str, dict[str, Any]] = {
    "nsh_firewall": {},
    "firewall": {"rules_by": "rest"},
}
PORT = 7007
WAIT_S = 10.0
STILL_S = 0.3
"""Longer than TCP waits before it sends again."""


@contextmanager
def connection(driver: LocalDriver, deployment: Deployment) -> Iterator[tuple[Any, Any]]:
    """An established TCP connection: the client's and the server's end."""
    hosts = driver._built[deployment.id].hosts
    with inside(_space(hosts["server"])):
        listener = socket.create_server((deployment.server.address, PORT))
    with listener:
        with inside(_space(hosts["client"])):
            client = socket.create_connection((deployment.server.address, PORT), timeout=WAIT_S)
        server, _ = listener.accept()
        with client, server:
            server.settimeout(WAIT_S)
            yield client, server


def _space(host: Any) -> Path:
    found: Path = host.namespace
    return found


def arrives(sender: socket.socket, receiver: socket.socket, data: bytes, wait_s: float) -> bool:
    """Whether data arrive within a while."""
    sender.sendall(data)
    receiver.settimeout(wait_s)
    try:
        return receiver.recv(100) == data
    except TimeoutError:
        return False


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize(
    ("kind", "encapsulation"),
    [("nsh_firewall", "nsh-vxlan-gpe"), ("firewall", "nsh-eth"), ("nsh_firewall", "nsh-eth")],
)
def test_an_existing_connection_is_cut(driver: LocalDriver, kind: str, encapsulation: str) -> None:
    chain = scenario([kind], encapsulation=encapsulation, knobs=KINDS[kind])  # type: ignore[arg-type]
    deployment = driver.deploy(chain)
    assert driver.prove_traversal(deployment, chain).problems == ()
    function = deployment.functions[0]
    with rule_client(function.rule_interface) as rules, connection(driver, deployment) as ends:
        client, server = ends
        assert arrives(client, server, b"before", WAIT_S)
        _cut_there_and_back(rules, client, server)
        assert driver.problems(deployment) == []
        dropped = function.counters()
        assert dropped["dropped_by_flow_rule"] >= 2
        assert dropped["dropped_by_source_rule"] == 0
    with rule_client(function.rule_interface) as rules:
        rules.block_source(deployment.client.address, 1.0)
        host = deployment.client.host
        argv = ["ping", "-n", "-c", "1", "-W", "0.2", deployment.server.address]
        assert host.run(argv, timeout_s=10, check=False).returncode == 1
        assert eventually(lambda: host.run(argv, timeout_s=10, check=False).returncode == 0)
        assert function.counters()["dropped_by_source_rule"] >= 1
    assert ping(deployment, 3) == 3


def _cut_there_and_back(rules: RuleClient, client: Any, server: Any) -> None:
    one, other = client.getsockname(), server.getsockname()
    rules.block_flow("tcp", one, other)
    assert not arrives(client, server, b"there", STILL_S)
    assert not arrives(server, client, b"back", STILL_S)
    rules.request("DELETE", "/rules")
    # TCP sends again what was lost.
    server.settimeout(WAIT_S)
    client.settimeout(WAIT_S)
    assert (server.recv(100), client.recv(100)) == (b"there", b"back")
