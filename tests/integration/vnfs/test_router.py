"""The router between two raw ends."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.network.wires import Lab, Port, eventually, ip, space

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.router.function import Router

pytestmark = pytest.mark.root

CLIENT, SERVER = "198.18.0.1", "198.18.1.1"


class Between:
    """A router with a raw end on each side."""

    def __init__(self, lab: Lab) -> None:
        router = lab.host("router")
        self.client, self.ingress = lab.join((lab.host("client"), "eth0"), (router, "in0"))
        self.server, self.egress = lab.join((lab.host("server"), "eth0"), (router, "out0"))
        self.attachment = Attachment(
            name="rt-1",
            interfaces=("in0", "out0"),
            macs=(self.ingress.mac, self.egress.mac),
            encapsulation="none",
            address=None,
            client=(CLIENT, self.client.mac),
            server=(SERVER, self.server.mac),
            vcpus=(),
            mtu=1500,
            outputs=lab.outputs,
        )
        self.lab = lab
        self.function = Router.start(router, self.attachment, {})
        assert isinstance(self.function, KernelForwarding)
        lab.at_end(self.function.stop)

    def cross(self, start: Port, near: Port, end: Port, packet: Packet) -> Packet:
        """Send a packet into the router's near port and give the frame that comes out."""
        wires = [start.wire(), end.wire()]
        for wire in wires:
            self.lab.at_end(wire.close)
        arrived: list[bytes] = []

        def ours(frame: bytes) -> bool:
            arrived.append(frame)
            return b"crossing" in frame

        wires[0].send([bytes(Ether(src=start.mac, dst=near.mac) / packet)])
        wires[1].receive_until(ours)
        return Ether(arrived[-1])


@pytest.fixture
def between(lab: Lab) -> Between:
    return Between(lab)


def _packet(source: str, destination: str, ttl: int = 64) -> Packet:
    return IP(src=source, dst=destination, ttl=ttl) / UDP(sport=1, dport=9) / Raw(b"crossing")


def test_forwards_both_ways(between: Between) -> None:
    there = between.cross(between.client, between.ingress, between.server, _packet(CLIENT, SERVER))
    assert (there.src, there.dst) == (between.egress.mac, between.server.mac)
    assert (there[IP].src, there[IP].dst, there[IP].ttl) == (CLIENT, SERVER, 63)
    checksum = there[IP].chksum
    del there[IP].chksum
    assert IP(bytes(there[IP])).chksum == checksum

    back = between.cross(between.server, between.egress, between.client, _packet(SERVER, CLIENT))
    assert (back.src, back.dst, back[IP].ttl) == (between.ingress.mac, between.client.mac, 63)

    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (2, 2, 0)
    assert between.function.problem() is None


def test_counts_what_it_cannot_forward(between: Between) -> None:
    wire = between.client.wire()
    between.lab.at_end(wire.close)
    expired = Ether(src=between.client.mac, dst=between.ingress.mac) / _packet(CLIENT, SERVER, 1)
    wire.send([bytes(expired)] * 3)
    assert eventually(lambda: between.function.counters()["dropped_header"] == 3)
    counters = between.function.counters()
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (3, 0, 3)


def test_says_what_is_wrong(between: Between) -> None:
    router = space(between.ingress.host)
    ip("-n", router, "link", "set", "out0", "down")
    assert between.function.problem() == f"the route to {SERVER} by out0 is gone"
    between.function.stop()
    assert between.function.problem() == "IPv4 forwarding was turned off"


def test_start_fails_with_a_reason(lab: Lab, between: Between) -> None:
    with pytest.raises(DeploymentError, match="in0"):
        Router.start(lab.host("empty"), between.attachment, {})
