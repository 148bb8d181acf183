"""sfc-port-pair: NSH frames from one port of a pair to the other, through each kind of function."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.needs import compiled
from support.network.wires import Lab, Port, Wire, eventually, ip, lab, space
from support.vnfs.attached import behind_sff
from support.vnfs.nsh_programs import TO_SOURCE, hop

from sfcperf import plugins
from sfcperf.dataplane.port_pair import FUNCTION_INTERFACE, FUNCTION_MAC, PortPair
from sfcperf.vnfs.base import RunningFunction
from sfcperf.vnfs.forwarder.function import attach_pass
from sfcperf.workflow.defaults import with_defaults

__all__ = ["lab"]
pytestmark = pytest.mark.root

MTU = 1438
CLIENT, SERVER = "02:00:00:00:aa:01", "02:00:00:00:aa:02"
BMV2: tuple[str, dict[str, Any]] = ("sfcmon", {"engine": "bmv2"})
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("forwarder", {"engine": "xdp"}),
    ("forwarder", {"engine": "userspace"}),
    ("nsh_firewall", {}),
    ("sfcmon", {}),
    BMV2,
    ("ids", {}),
    ("program", hop("nsh-eth", TO_SOURCE)),
]
HEADERS = {
    "md1": NSH(spi=7, si=255, ttl=63, mdtype=1, context_header=bytes(range(16))),
    "md2": NSH(spi=7, si=254, ttl=63, mdtype=2, vlch=[]),
}


@dataclass
class Bench:
    """A function behind a pair of ports, as the cloud's switch sees it."""

    function: RunningFunction
    pair: PortPair
    vm: tuple[Port, Port]
    """Ports in and out, in the VM."""
    switch: tuple[Port, Port]
    wires: tuple[Wire, Wire]

    def crossed(self, packet: Packet, came: int, **ethernet: str) -> list[Packet]:
        """What leaves by the other port when this comes by port `came`."""
        known = {"src": self.switch[came].mac, "dst": self.vm[came].mac} | ethernet
        self.wires[came].send([bytes(Ether(type=0x894F, **known) / packet)])
        return [Ether(frame) for frame in self.wires[1 - came].drain()]


def start(lab: Lab, name: str, knobs: dict[str, Any]) -> Bench:
    compiled(PortPair.binary)
    vm, switch = lab.host("vm"), lab.host("switch")
    ip("-n", space(vm), "link", "set", "lo", "up")
    joined = [lab.join((switch, f"s-{end}"), (vm, f"eth-{end}")) for end in ("in", "out")]
    outside, inside = zip(*joined, strict=True)
    pair = PortPair.launch(vm, "sf-1", (inside[0].interface, inside[1].interface), MTU)
    lab.at_end(pair.stop)
    kind = plugins.load("vnf", name)
    known = with_defaults(kind.parameters, knobs)
    if kind.peer_needs_xdp(known):
        attach_pass(vm, [pair.inside])
    cpu = (min(os.sched_getaffinity(0)),)
    port = Port(vm, FUNCTION_INTERFACE, FUNCTION_MAC)
    attachment = behind_sff("sf-1", port, lab.outputs, vcpus=cpu, mtu=MTU)
    function = kind.start(vm, attachment, known)
    lab.at_end(function.stop)
    wires = tuple(each.wire() for each in outside)
    for wire in wires:
        lab.at_end(wire.close)
    return Bench(function, pair, inside, outside, wires)  # type: ignore[arg-type]


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.bmv2) if kind is BMV2 else kind for kind in KINDS],
    ids=[f"{name}-{k.get('engine', '')}" for name, k in KINDS],
)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with Lab(tmp_path_factory.mktemp("port-pair")) as lab:
        yield start(lab, *request.param)


def inner(length: int = 20) -> Packet:
    datagram = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1000, dport=9)
    return Ether(src=CLIENT, dst=SERVER) / datagram / Raw(bytes(length))


@pytest.mark.parametrize("came", [0, 1])
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_frames_leave_by_the_other_port(bench: Bench, header: Packet, came: int) -> None:
    """With the port's address as their source, outside and inside, and one less in the SI. All
    else is as it came: judged by scapy, byte for byte."""
    expected_nsh, expected_inner = header.copy(), inner()
    expected_nsh.si -= 1
    expected_inner.src = bench.vm[1 - came].mac
    (frame,) = bench.crossed(header / inner(), came)
    assert frame.src == bench.vm[1 - came].mac
    assert bytes(frame.payload) == bytes(expected_nsh / expected_inner)


def test_the_largest_frame_passes(bench: Bench) -> None:
    """Of endpoints with an MTU of 1400."""
    (frame,) = bench.crossed(HEADERS["md1"] / inner(1400 - 28), 0)
    assert len(frame) == 14 + MTU


def test_frames_for_others_stay_out(bench: Bench) -> None:
    """Frames that a switch floods, and those without NSH."""
    before = bench.pair.fresh()
    assert bench.crossed(HEADERS["md1"] / inner(), 0, dst="02:00:00:00:bb:01") == []
    bench.wires[0].send([bytes(Ether(dst=bench.vm[0].mac) / ARP(pdst="192.0.2.9"))])
    assert bench.wires[1].drain() == []
    after = bench.pair.fresh()
    assert {name for name in after if after[name] != before[name]} <= {"sequence", "sequence_end"}


def test_an_ip_packet_behind_the_nsh_stays_as_it_is(lab: Lab) -> None:
    """It has no Ethernet header whose source could be written."""
    bench = start(lab, "forwarder", {"engine": "xdp"})
    packet = IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1000, dport=9) / Raw(bytes(40))
    header = NSH(spi=7, si=255, nextproto=1, context_header=bytes(16))
    (frame,) = bench.crossed(header / packet, 0)
    assert bytes(frame[NSH].payload) == bytes(packet)


def test_nothing_stays(lab: Lab) -> None:
    """Neither the veth pair nor a filter; and what a killed process left is in nobody's way."""
    bench = start(lab, "forwarder", {"engine": "userspace"})
    vm = bench.vm[0].host
    os.kill(bench.pair.pids()[0], signal.SIGKILL)
    assert eventually(lambda: bench.pair.problem() is not None)
    bench.function.stop()
    bench.pair.stop()
    again = PortPair.launch(vm, "sf-2", ("eth-in", "eth-out"), MTU)
    again.stop()
    again.stop()
    assert FUNCTION_INTERFACE not in ip("-n", space(vm), "link")
    for port in bench.vm:
        shown = vm.run(["tc", "filter", "show", "dev", port.interface, "ingress"], timeout_s=10)
        assert shown.text == ""
        assert "mtu 1500" in ip("-n", space(vm), "link", "show", port.interface)
