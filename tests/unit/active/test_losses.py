"""Losses of the endpoints, from counters whose growth is known."""

from pathlib import Path
from typing import Any, cast

import pytest

from sfcperf.active.iperf3.test import largest_buffer_bytes
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.mtu import check_payload
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment, Endpoint

SNMP = (
    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n"
    "Udp: 1 0 0 1 {received_lost} {sent_lost}\n"
)
NET_DEV = "Inter-|\n face |\n  eth0: 1 1 0 50 0 0 0 0 1 1 0 {drops} 0 0 0 0\n"


class FakeHost:
    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def read_text(self, path: str) -> str:
        if path not in self._files:
            raise MeasurementError("no such file", where=path)
        return self._files[path]


def endpoint(name: str, files: dict[str, str], interface: str = "eth0") -> Endpoint:
    return Endpoint(name, "node1", cast(Host, FakeHost(files)), "198.18.0.1", interface, 1500)


def deployment(client: Endpoint, server: Endpoint) -> Deployment:
    return Deployment("d", client, server, (), (), {}, "none")


def counted(sent_lost: int = 0, drops: int = 0, received_lost: int = 0) -> Deployment:
    """The client's receive errors and the server's send errors are not looked at."""
    client = SNMP.format(sent_lost=sent_lost, received_lost=9)
    server = SNMP.format(sent_lost=9, received_lost=received_lost)
    files = {"/proc/net/snmp": client, "/proc/net/dev": NET_DEV.format(drops=drops)}
    return deployment(endpoint("client", files), endpoint("server", {"/proc/net/snmp": server}))


def test_only_what_was_added_counts() -> None:
    before = EndpointLosses.read(counted(5, 6, 7))
    after = EndpointLosses.read(counted(8, 10, 7))
    assert after.since(before) == EndpointLosses(sndbuf_errors=3, tx_drops=4, rcvbuf_errors=0)


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (EndpointLosses(3, 0, 0), "the sender itself lost 3 datagrams"),
        (EndpointLosses(0, 4, 0), "interface eth0 dropped 4 packets"),
        (EndpointLosses(0, 0, 5), "the receiver was too slow and lost 5 datagrams"),
    ],
)
def test_each_place_has_its_reason(losses: EndpointLosses, words: str) -> None:
    client = counted().client
    (reason,) = losses.of_udp(client)
    assert words in reason
    assert losses.of_udp(client, tolerated_sender=4, tolerated_receiver=5) == []
    assert bool(losses.of_interface(client)) is (losses.tx_drops > 0)
    assert EndpointLosses(0, 0, 0).of_udp(client) == []


def test_a_missing_interface_is_named() -> None:
    there = counted()
    snmp = SNMP.format(sent_lost=0, received_lost=0)
    client = endpoint("client", {"/proc/net/snmp": snmp, "/proc/net/dev": "\n\n"}, "eth7")
    with pytest.raises(MeasurementError, match="client has no interface eth7"):
        EndpointLosses.read(deployment(client, there.server))


def test_payload_against_mtu() -> None:
    client = counted().client
    check_payload(client, 1472, header_bytes=8)
    with pytest.raises(MeasurementError) as caught:
        check_payload(client, 1473, header_bytes=8)
    assert caught.value.allowed == "payload_bytes up to 1472"


def limits(rmem: int, wmem: int) -> dict[str, str]:
    folder = Path("/proc/sys/net/core")
    return {str(folder / "rmem_max"): f"{rmem}\n", str(folder / "wmem_max"): f"{wmem}\n"}


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        (limits(9000, 9000), limits(9000, 9000), 5000),
        (limits(9000, 4000), limits(9000, 9000), 4000),
        (limits(9000, 9000), limits(3000, 9000), 3000),
        (limits(9000, 9000), {}, None),
    ],
)
def test_buffers_are_what_every_host_allows(
    client: dict[str, Any], server: dict[str, Any], expected: int | None
) -> None:
    there = deployment(endpoint("client", client), endpoint("server", server))
    assert largest_buffer_bytes(there, 5000) == expected
