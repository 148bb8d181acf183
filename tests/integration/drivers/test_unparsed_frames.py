"""Nothing goes round a firewall: frames and fragments from a blocked source, to a real socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.attacks.frames import READ_BY_LINUX, UNPARSED
from support.network.wires import Wire, eventually
from support.records.scenarios import scenario, topology
from support.vnfs.rule_client import rule_client

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.root

FIREWALLS: dict[str, dict[str, Any]] = {"nsh_firewall": {}, "firewall": {"rules_by": "rest"}}
PORT = 7011
WAIT_S = 10.0
LARGE = bytes(4000)
"""In one datagram: three fragments."""


@dataclass(frozen=True)
class Ends:
    """Where a client sends, by sockets or whole frames, and a server receives."""

    wire: Wire
    client: socket.socket
    server: socket.socket
    macs: tuple[str, str]
    addresses: tuple[str, str]

    def datagram(self, data: bytes) -> Packet:
        source, destination = self.addresses
        return IP(src=source, dst=destination) / UDP(sport=PORT, dport=PORT) / Raw(data)

    def attack(self, *kinds: str) -> None:
        """Send a frame of each kind, with its name as data."""
        made = (UNPARSED[kind](*self.macs, self.datagram(kind.encode())) for kind in kinds)
        self.wire.send(map(bytes, made))

    def send(self, data: bytes) -> None:
        self.client.sendto(data, (self.addresses[1], PORT))


@contextmanager
def ends(driver: LocalDriver, deployment: Deployment) -> Iterator[Ends]:
    built = driver._built[deployment.id]
    client, server = built.layout.client, built.layout.server
    spaces: list[Path] = [built.hosts[name].namespace for name in ("client", "server")]  # type: ignore[attr-defined]
    sockets = []
    for port, space in zip((client, server), spaces, strict=True):
        with inside(space):
            sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sockets[-1].bind((port.address, PORT))
        sockets[-1].settimeout(WAIT_S)
    wire = Wire(spaces[0], client.inner)
    with sockets[0], sockets[1]:
        yield Ends(wire, *sockets, (client.mac, server.mac), (client.address, server.address))
    wire.close()


def unparsed(deployment: Deployment) -> int:
    return sum(deployment.unparsed().values())


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("kind", FIREWALLS)
@pytest.mark.parametrize("match", [Match(), Match("udp", destination_port=PORT)], ids=str)
def test_what_the_classifier_cannot_parse_is_dropped_and_counted(
    driver: LocalDriver, dataplane: str, kind: str, match: Match
) -> None:
    # Open vSwitch reads SNAP, and no protocol of a packet that is shorter than it says.
    on_ovs = dataplane == "ovs"
    count = len(UNPARSED) - on_ovs + (on_ovs and match != Match())
    chain = scenario([kind], knobs=FIREWALLS[kind], match=match, where=topology("T3"))
    deployment = driver.deploy(chain)
    with (
        rule_client(deployment.functions[0].rule_interface) as rules,
        ends(driver, deployment) as here,
    ):
        rules.block_source(deployment.client.address)
        before = unparsed(deployment)
        here.attack(*UNPARSED)
        short = here.datagram(b"short")
        short.len = 1000
        here.wire.send([bytes(Ether(src=here.macs[0], dst=here.macs[1]) / short)])
        assert eventually(lambda: unparsed(deployment) - before == count)
        rules.request("DELETE", "/rules")
        here.send(b"allowed")
        assert here.server.recv(100) == b"allowed"
    assert unparsed(deployment) - before == count


@pytest.mark.parametrize("dataplane", ["ebpf", "ovs"], indirect=True)
def test_the_workflow_lets_them_bypass_the_chain(driver: LocalDriver) -> None:
    deployment = driver.deploy(scenario(["nsh_firewall"], bypass_unparsed=True))
    with (
        rule_client(deployment.functions[0].rule_interface) as rules,
        ends(driver, deployment) as here,
    ):
        rules.block_source(deployment.client.address)
        here.attack(*UNPARSED)
        seen = {here.server.recv(100).decode() for _ in READ_BY_LINUX}
    assert seen == set(READ_BY_LINUX)
    assert unparsed(deployment) == 0


@pytest.mark.parametrize("kind", FIREWALLS)
def test_fragments_do_not_go_round_a_classifier_of_ports(driver: LocalDriver, kind: str) -> None:
    match = Match("udp", destination_port=PORT)
    deployment = driver.deploy(scenario([kind], knobs=FIREWALLS[kind], match=match))
    function = deployment.functions[0]
    before = function.counters()
    with ends(driver, deployment) as here, rule_client(function.rule_interface) as rules:
        here.send(LARGE)
        assert here.server.recv(2 * len(LARGE)) == LARGE
        assert function.counters()["forwarded"] - before["forwarded"] == 3
        rules.block_source(deployment.client.address)
        here.send(LARGE)

        def dropped() -> int:
            return function.counters()["dropped_by_source_rule"]

        assert eventually(lambda: dropped() == 3)
