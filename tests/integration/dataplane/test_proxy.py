"""sfc-proxy: functions that take plain IP behind ports that carry NSH, with scapy as judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.needs import compiled
from support.network.wires import Lab, Port, Wire, eventually, lab
from support.vnfs.attached import between_ends

from sfcperf import plugins
from sfcperf.dataplane.proxy import SfcProxy
from sfcperf.vnfs.base import RunningFunction
from sfcperf.workflow.defaults import with_defaults

__all__ = ["lab"]
pytestmark = pytest.mark.root

MTU = 1438
ENDS = ("192.0.2.1", "192.0.2.2")
"""Addresses of client and server, behind the ports in and out."""
MACS = ("02:00:00:00:aa:01", "02:00:00:00:aa:02")
CONTEXT = bytes(range(16))
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("router", {}),
    ("firewall", {"rules": 10}),
    ("delay", {"delay_us": 100}),
]


@dataclass
class Bench:
    """A function behind a proxy, as the cloud's switch sees it. Places are those of the ports: 0
    is in, 1 is out."""

    function: RunningFunction
    proxy: SfcProxy
    vm: tuple[Port, Port]
    switch: tuple[Port, Port]
    wires: tuple[Wire, Wire]

    def send(self, frame: Packet, came: int, **ethernet: str) -> None:
        known = {"src": self.switch[came].mac, "dst": self.vm[came].mac} | ethernet
        self.wires[came].send([bytes(Ether(type=0x894F, **known) / frame)])

    def crossed(self, frame: Packet, came: int, **ethernet: str) -> list[Packet]:
        """What leaves by the other port when this comes by port `came`."""
        self.send(frame, came, **ethernet)
        return [Ether(data) for data in self.wires[1 - came].drain()]


def start(lab: Lab, name: str, knobs: dict[str, Any]) -> Bench:
    compiled(SfcProxy.binary)
    vm, switch = lab.host("vm"), lab.host("switch")
    joined = [lab.join((switch, f"s-{end}"), (vm, f"eth-{end}")) for end in ("in", "out")]
    outside, inside = zip(*joined, strict=True)
    proxy = SfcProxy.launch(vm, "sf-1", (inside[0].interface, inside[1].interface), MTU)
    lab.at_end(proxy.stop)
    kind = plugins.load("vnf", name)
    here, there = (
        (address, Port(switch, port.interface, mac))
        for address, port, mac in zip(ENDS, outside, MACS, strict=True)
    )
    attachment = between_ends("sf-1", here, *inside, there, lab.outputs, mtu=MTU)
    function = kind.start(vm, attachment, with_defaults(kind.parameters, knobs))
    lab.at_end(function.stop)
    wires = tuple(each.wire() for each in outside)
    for wire in wires:
        lab.at_end(wire.close)
    return Bench(function, proxy, inside, outside, wires)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=KINDS, ids=[name for name, _ in KINDS])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with Lab(tmp_path_factory.mktemp("proxy")) as lab:
        yield start(lab, *request.param)


def inner(came: int, length: int = 20) -> Packet:
    ends = (came, 1 - came)
    addresses = IP(src=ENDS[ends[0]], dst=ENDS[ends[1]], id=7)
    ethernet = Ether(src=MACS[ends[0]], dst=MACS[ends[1]])
    return ethernet / addresses / UDP(sport=1000, dport=9) / Raw(bytes(length))


def header(si: int = 254, **fields: Any) -> NSH:
    return NSH(**({"spi": 7, "si": si, "ttl": 63, "mdtype": 1, "context_header": CONTEXT} | fields))


@pytest.mark.parametrize("came", [0, 1])
def test_packets_leave_in_their_nsh(bench: Bench, came: int) -> None:
    """With one less in the SI, from the port's address; the function has forwarded by IP (delay
    twice: through its TUN device)."""
    expected = inner(came)
    expected.src = bench.vm[1 - came].mac
    expected[IP].ttl -= 2 if "dropped_queue" in bench.function.counters() else 1
    for si in (254, 2, 255):
        (frame,) = bench.crossed(header(si) / inner(came), came)
        assert frame.src == bench.vm[1 - came].mac
        assert bytes(frame.payload) == bytes(header(si - 1) / expected)
    other = header(9, spi=0xABCDEF, context_header=bytes(16))
    (frame,) = bench.crossed(other / inner(came), came)
    assert (frame[NSH].spi, frame[NSH].si) == (0xABCDEF, 8)


def test_directions_have_headers_of_their_own(bench: Bench) -> None:
    """As in a symmetric chain of the cloud: one SPI, another SI."""
    for _ in range(2):
        (there,) = bench.crossed(header(255) / inner(0), 0)
        (back,) = bench.crossed(header(200) / inner(1), 1)
        assert (there[NSH].si, back[NSH].si) == (254, 199)


def test_the_largest_packet_passes(bench: Bench) -> None:
    """Of endpoints with an MTU of 1400."""
    (frame,) = bench.crossed(header() / inner(0, 1400 - 28), 0)
    assert len(frame) == 14 + MTU


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (header(1), "si"),
        (header(0), "si"),
        (header(ver=1), "nsh"),
        (header(oam=1), "nsh"),
        (header(nextproto=1), "nsh"),
        (NSH(spi=7, si=254, mdtype=2, vlch=[]), "nsh"),
    ],
    ids=["last SI", "no SI", "version", "OAM", "IPv4", "MD type 2"],
)
def test_frames_that_it_cannot_take_are_dropped(bench: Bench, frame: Packet, reason: str) -> None:
    before = bench.proxy.fresh()["drops"]
    assert bench.crossed(frame / inner(0), 0) == []
    after = bench.proxy.fresh()["drops"]
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {
        reason: 1
    }


def test_frames_for_others_stay_out(bench: Bench) -> None:
    """Frames that a switch floods; and those without NSH are the kernel's."""
    before = bench.proxy.fresh()
    assert bench.crossed(header() / inner(0), 0, dst="02:00:00:00:bb:01") == []
    bench.wires[0].send([bytes(Ether(dst=bench.vm[0].mac) / ARP(pdst="192.0.2.9"))])
    assert bench.wires[1].drain() == []
    after = bench.proxy.fresh()
    assert {name for name in after if after[name] != before[name]} <= {"sequence", "sequence_end"}


def test_nothing_leaves_without_a_path(lab: Lab) -> None:
    """Packets in plain IP would go round the rest of the chain."""
    bench = start(lab, "router", {})
    ping = ["ping", "-c", "1", "-W", "1", "-I", "eth-out", ENDS[1]]
    vm = bench.vm[0].host
    vm.run(["ip", "address", "add", "192.0.2.9/32", "dev", "eth-out"], timeout_s=10)
    vm.run(ping, timeout_s=10, check=False)
    assert eventually(lambda: bench.proxy.fresh()["drops"]["path"] >= 1)
    assert bench.wires[1].drain() == []


def test_nothing_stays(lab: Lab) -> None:
    bench = start(lab, "router", {})
    vm = bench.vm[0].host
    bench.function.stop()
    bench.proxy.stop()
    bench.proxy.stop()
    for port in bench.vm:
        for side in ("ingress", "egress"):
            argv = ["tc", "filter", "show", "dev", port.interface, side]
            assert vm.run(argv, timeout_s=10).text == ""
        shown = vm.run(["ip", "-d", "link", "show", "dev", port.interface], timeout_s=10).text
        assert "xdp" not in shown
        assert "mtu 1500" in shown
        assert "gso_max_segs 65535" in shown
