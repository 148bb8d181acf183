"""Tables that change under traffic: no packet is lost, comes twice, or sees half of each path."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.network.wires import Lab, Port, ip, space
from support.tiers import is_gate
from support.vnfs.attached import behind_sff
from support.vnfs.sff_bench import (
    CLIENT,
    FAR_ADDRESS,
    FAR_NODE,
    MODES,
    MTU,
    NODE,
    NODE_ADDRESS,
    NSH_SF,
    PORT_CLIENT,
    PORT_LINK,
    PORT_NSH,
    SERVER,
    Mode,
    SffBench,
)

from sfcperf.dataplane.sff.process import SffProcess
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host
from sfcperf.vnfs.forwarder.function import Forwarder

pytestmark = pytest.mark.root

CHANGES = 100 if is_gate() else 2000
BURST, PERIOD_S = 5, 0.002
NUMBER_BYTES = 4
TAIL = b"numbered"
_SPI_AT = 50 + 4
"""Behind Ethernet, IPv4, UDP and VXLAN-GPE."""


class Traffic:
    """Numbered packets into the client's port, until the `with` block ends."""

    def __init__(self, bench: SffBench) -> None:
        self._bench = bench
        inner = Ether(src=CLIENT, dst=SERVER) / IP(src="198.18.0.1", dst="198.18.0.2")
        self._head = bytes(inner / UDP(sport=7, dport=9, len=8 + 12, chksum=0) / Raw(TAIL))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.sent = 0
        self._frames: list[bytes] = []

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _send(self) -> None:
        while not self._stop.wait(PERIOD_S):
            for _ in range(BURST):
                number = self.sent.to_bytes(NUMBER_BYTES, "big")
                self._bench.wires[PORT_CLIENT].send([self._head + number])
                self.sent += 1
            # The socket has no room for all of them.
            self._frames += self._bench.wires[PORT_LINK].waiting()

    def arrived(self) -> list[tuple[int, int, int]]:
        """(number, SPI, SI) of all packets that came to the other node."""
        frames = self._frames
        while more := self._bench.wires[PORT_LINK].drain():
            frames += more
        return [
            (
                int.from_bytes(frame[-NUMBER_BYTES:], "big"),
                int.from_bytes(frame[_SPI_AT : _SPI_AT + 3], "big"),
                frame[_SPI_AT + 3],
            )
            for frame in frames
            if TAIL in frame
        ]


def _lines(spi: int, crossings: int, shift: int = 0) -> Iterator[str]:
    """All of a table with one path: so many times to the forwarder, and on to the other node.
    `shift`: of the numbers of ports."""
    client, forwarder, link = (port + shift for port in (PORT_CLIENT, PORT_NSH, PORT_LINK))
    yield f"rule {client} path {spi} 255"
    for crossing in range(crossings):
        came_from = forwarder if crossing else client
        yield (f"path {spi} {255 - crossing} from {came_from} to nsh port {forwarder} mac {NSH_SF}")
    yield (
        f"path {spi} {255 - crossings} from {forwarder}"
        f" to gpe port {link} mac {FAR_NODE} address {FAR_ADDRESS}"
    )


def _tables(mode: Mode, lines: Sequence[str], shift: int = 0) -> str:
    xdp = " xdp yes" if mode == "xdp" else ""
    kinds = {PORT_CLIENT: "endpoint", PORT_NSH: "nsh", PORT_LINK: "underlay"}
    own = [
        f"node {NODE} address {NODE_ADDRESS}",
        f"tap tap-near tap-far on {'yes' if mode == 'tap' else 'no'}",
        *(f"port {n + shift} interface p{n} kind {k} mtu {MTU}{xdp}" for n, k in kinds.items()),
    ]
    return "\n".join([*own, *lines]) + "\n"


@contextmanager
def _rig(folder: Path, mode: Mode) -> Iterator[SffBench]:
    """A bench whose function is a real forwarder."""
    with SffBench(folder, mode=mode) as bench:
        sf = Port(bench.ends, f"e{PORT_NSH}", NSH_SF)
        vcpus = (min(os.sched_getaffinity(0)),)
        attachment = behind_sff("fwd-1", sf, folder, vcpus=vcpus, mtu=MTU)
        bench.ends.run(["ip", "link", "set", f"e{PORT_NSH}", "address", NSH_SF], timeout_s=10)
        function = Forwarder.start(bench.ends, attachment, {"engine": "xdp"})
        bench.lab.at_end(function.stop)
        yield bench


def _judge(
    bench: SffBench, traffic: Traffic, allowed: set[tuple[int, int]], dropped: dict[str, int]
) -> None:
    arrived = traffic.arrived()
    assert sorted(number for number, _, _ in arrived) == list(range(traffic.sent))
    assert {(spi, si) for _, spi, si in arrived} == allowed
    assert bench.drops() == dropped


@pytest.mark.parametrize("mode", MODES)
def test_paths_that_change(tmp_path: Path, mode: Mode) -> None:
    """Two paths of different lengths, whose ports have different numbers; and files with an error
    between them."""
    paths = [
        _tables(mode, [*_lines(1, 3)]),
        _tables(mode, [*_lines(2, 1, shift=100)], shift=100),
    ]
    wrong = paths[1] + "path 2 255 to nowhere\n"
    line = wrong.count("\n")
    with _rig(tmp_path, mode) as bench:
        bench.sff.change(paths[0])
        before = bench.counters()["loads"]
        with Traffic(bench) as traffic:
            for number in range(CHANGES):
                bench.sff.change(paths[number % 2])
                if number % 10 == 0:
                    with pytest.raises(DeploymentError, match=rf"sff\.tables:{line}: to is 'now"):
                        bench.sff.change(wrong)
        _judge(bench, traffic, {(1, 252), (2, 254)}, {})
        assert bench.counters()["loads"] == before + CHANGES + CHANGES // 10


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("mode", ["xdp", "stack"])
def test_the_tap_is_turned_on_and_off(tmp_path: Path, mode: Mode) -> None:
    """Frames that were on their way in the one form arrive in the other."""
    tables = [
        _tables(mode, [*_lines(1, 2)]).replace("on no", f"on {state}") for state in ("yes", "no")
    ]
    with _rig(tmp_path, mode) as bench:
        bench.sff.change(tables[1])
        with Traffic(bench) as traffic:
            for number in range(CHANGES):
                bench.sff.change(tables[number % 2])
        _judge(bench, traffic, {(1, 253)}, {})


def test_paths_without_number(changing: SffBench) -> None:
    """Counters are used again when there were more paths than there are counters."""
    for start in range(0, 6000, 2000):
        spis = range(0x1000 + start, 0x1000 + start + 2000)
        changing.change(f"path {spi} 1 to nsh port {PORT_NSH} mac {NSH_SF}" for spi in spis)
        last = spis[-1]
        frame = Ether(src=NSH_SF, dst=NODE, type=0x894F) / NSH(spi=last, si=1, ttl=9)
        for _ in range(3):
            changing.one(PORT_NSH, frame)
        counted = {hop["spi"]: hop["packets"] for hop in changing.counters()["hops"]}
        assert counted[last] == 3
        assert set(spis) <= set(counted)
    # As many as there may be. SPIs at regular distances too, which a weak hash function would put
    # next to each other.
    for stride in (1, 107, 1391):
        lines = [f"path {1 + stride * n} 255 to end port {PORT_CLIENT}" for n in range(2047)]
        changing.sff.change(_tables("xdp", lines))
        with pytest.raises(DeploymentError, match="2047"):
            changing.sff.change(_tables("xdp", [*lines, f"path 5 1 to end port {PORT_CLIENT}"]))
    changing.sff.change(changing.tables)


REFUSED: dict[str, tuple[Callable[[str], str], str]] = {
    "interface": (lambda text: text.replace("interface p7", "interface p99"), "no interface p99"),
    "node": (lambda text: text.replace(NODE, "02:00:00:00:10:02"), "cannot change; start"),
    "address": (lambda text: text.replace(NODE_ADDRESS, "192.0.2.9"), "cannot change; start"),
    "tap": (lambda text: text.replace("tap tap-near tap-far", "tap tap-far tap-near"), "start"),
    "driver": (lambda text: text + "port 9 interface lo kind nsh mtu 1500\n", "attach to lo"),
    "empty": (lambda _: "", "a line 'node MAC' is missing"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_changes_nothing(changing: SffBench, what: str) -> None:
    spoil, said = REFUSED[what]
    frame = Ether(src=CLIENT, dst=SERVER) / IP() / UDP(dport=9)
    with pytest.raises(DeploymentError, match=said):
        changing.sff.change(spoil(changing.with_lines(["path 1 255 to end port 1"])))
    assert said in changing.counters()["refused"]
    assert changing.one(PORT_CLIENT, frame)[1] == bytes(frame)
    changing.sff.change(changing.tables)
    assert changing.counters()["refused"] == ""
    assert changing.one(PORT_CLIENT, frame)[1] == bytes(frame)


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SffBench]:
    with SffBench(tmp_path_factory.mktemp("sff")) as bench:
        yield bench


def test_a_port_comes_and_goes(changing: SffBench) -> None:
    """Programs are attached to the interfaces that are ports, and to no others."""
    without = "".join(
        line
        for line in changing.tables.splitlines(keepends=True)
        if "p7 " not in line and "port 7" not in line and "7 255" not in line
    )
    everywhere = _with_xdp(changing.node)
    assert "p7" in everywhere
    changing.sff.change(without)
    assert _with_xdp(changing.node) == everywhere - {"p7"}
    changing.sff.change(changing.tables)
    assert _with_xdp(changing.node) == everywhere


def test_all_ports_are_exchanged(lab: Lab, tmp_path: Path) -> None:
    """While tables change, the interfaces of both are attached, however many these are."""
    count = 140
    host = lab.host("sff")
    pairs = tmp_path / "pairs"
    pairs.write_text("".join(f"link add a{n} type veth peer name b{n}\n" for n in range(count)))
    ip("-n", space(host), "-batch", str(pairs))

    def tables(end: str) -> str:
        ports = (f"port {n + 1} interface {end}{n} kind nsh mtu 1500\n" for n in range(count))
        return f"node {NODE}\n" + "".join(ports)

    sff = SffProcess.launch("sff", host, tables("a"))
    lab.at_end(sff.stop)
    sff.change(tables("b"))
    assert _with_xdp(host) == {f"b{n}" for n in range(count)}


def _with_xdp(host: Host) -> set[str]:
    links = json.loads(host.run(["ip", "-j", "link", "show"], timeout_s=10).text)
    return {link["ifname"] for link in links if "xdp" in link}
