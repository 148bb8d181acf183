"""Evaluation of made-up observations, and observations in captures that scapy wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import CookedLinuxV2, Ether
from scapy.packet import Packet
from scapy.utils import PcapWriter

from sfcperf.drivers.openstack.traversal.evaluation import ExpectedPath, PathStep, evaluate
from sfcperf.drivers.openstack.traversal.observations import Observation, observe
from sfcperf.errors import MeasurementError
from sfcperf.packets.marked import Side, mark_of, marked_packet, sides
from sfcperf.workflow.model import Match

MARK, OTHER = b"m" * 16, b"o" * 16
CLIENT = Side("02:00:00:00:00:01", "10.0.0.1", 0)
SERVER = Side("02:00:00:00:00:02", "10.0.0.2", 0)
NAMES = ("a", "b", "c", "d")
SPI = 7


def way(
    names: Sequence[str], marks: tuple[bytes, ...] = (MARK,), aware: Collection[str] = ()
) -> ExpectedPath:
    """`aware`: functions that get NSH."""
    steps = tuple(
        PathStep(name, "eth1", "eth2", 255 - number if name in aware else None)
        for number, name in enumerate(names)
    )
    return ExpectedPath(("client", "eth1"), ("server", "eth1"), steps, marks)


def walk(
    names: Sequence[str], ttl: int = 64, aware: Collection[str] = ()
) -> dict[str, dict[bytes, tuple[Observation, ...]]]:
    """What is seen of a packet that takes a way, at all places."""
    seen: dict[str, dict[bytes, tuple[Observation, ...]]] = {
        place: {MARK: ()} for place in ("client", "server", *NAMES)
    }
    seen["client"][MARK] = (Observation("eth1", True, ttl),)
    for number, name in enumerate(names):
        si, after = (255 - number, ttl) if name in aware else (None, ttl - 1)
        into = Observation("eth1", False, ttl, None if si is None else SPI, si)
        out = Observation("eth2", True, after)
        if si is not None:
            out = Observation("eth2", True, after, SPI, si - 1)
        seen[name][MARK] += (into, out)
        ttl = after
    seen["server"][MARK] = (Observation("eth1", False, ttl),)
    return seen


orders = st.lists(st.sampled_from(NAMES), max_size=6)
asked_orders = st.permutations(NAMES).flatmap(
    lambda names: st.integers(0, len(names)).map(lambda n: tuple(names[:n]))
)


@given(asked=asked_orders, taken=orders, aware=st.sets(st.sampled_from(NAMES)))
def test_only_the_asked_way_is_good(
    asked: tuple[str, ...], taken: list[str], aware: set[str]
) -> None:
    """Whatever way packets take, it is found out when it is another one: by the TTL, by the SI, and
    where functions of both kinds are in the chain, by both."""
    evaluation = evaluate(way(asked, aware=aware), NAMES, walk(taken, aware=aware))
    assert (not evaluation.problems) == (tuple(taken) == asked)


@given(asked=asked_orders, aware=st.sets(st.sampled_from(NAMES)))
def test_what_is_observed_is_in_the_order_of_the_way(
    asked: tuple[str, ...], aware: set[str]
) -> None:
    evaluation = evaluate(way(asked, aware=aware), NAMES, walk(asked, aware=aware))
    for number, hop in enumerate(evaluation.observed):
        expected = (SPI, 255 - number, 254 - number) if hop.function in aware else (None,) * 3
        assert hop.function == asked[number]
        assert (hop.spi, hop.si, hop.si_after) == expected


def test_an_aware_function_that_nobody_watches_is_found_by_the_si() -> None:
    """Unless it is the last one: behind it there is no SI any more."""
    taken, aware = ["a", "d", "b"], NAMES
    seen = walk(taken, aware=aware)
    (problem,) = evaluate(way(["a", "b"], aware=aware), ("a", "b"), seen).problems
    assert problem.startswith("b got SI 253 and gave SI 252; expected SI 254 and SI 253")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("a", {"si": 255}, "a got SI 255 and gave SI 255"),
        ("b", {"spi": 8}, "b got SPI 7 and gave SPI 8, in a chain with SPI 7"),
        ("a", {"spi": None, "si": None}, "a got or gave plain IP instead of NSH"),
        ("c", {"spi": 7, "si": 252}, "c got or gave NSH instead of plain IP"),
    ],
)
def test_a_function_that_does_not_serve_nsh_is_found(
    name: str, change: Mapping[str, Any], words: str
) -> None:
    """a and b get NSH, c plain IP."""
    seen = walk("abc", aware="ab")
    into, out = seen[name][MARK]
    seen[name][MARK] = (into, replace(out, **change))
    (problem,) = evaluate(way("abc", aware="ab"), NAMES, seen).problems
    assert problem.startswith(words)


@pytest.mark.parametrize("aware", [[], ["a"], ["b"]])
def test_a_cloud_that_may_not_know_nsh_is_told(aware: list[str]) -> None:
    """Of the first function only: those behind it get nothing from another one either."""
    problems = evaluate(way(["a", "b"], aware=aware), ["a", "b"], walk([])).problems
    told = "no packet reached a, which gets NSH" in " ".join(problems)
    assert told == (aware == ["a"])
    assert len(problems) == 1 + told


def test_nsh_at_the_server_is_a_problem() -> None:
    seen = walk("a", aware="a")
    seen["server"][MARK] = (Observation("eth1", False, 64, SPI, 254),)
    (problem,) = evaluate(way("a", aware="a"), NAMES, seen).problems
    assert problem.startswith("the server received the packet in its NSH")


@given(asked=asked_orders, unseen=st.sampled_from(NAMES), at=st.integers(0, 4))
def test_a_function_that_nobody_watches_is_found_by_the_ttl(
    asked: tuple[str, ...], unseen: str, at: int
) -> None:
    names = [name for name in asked if name != unseen]
    taken = [*names[:at], unseen, *names[at:]]
    seen = walk(taken)
    watched = [name for name in NAMES if name != unseen]
    assert evaluate(way(names), watched, seen).problems


def test_a_bridge_does_not_lower_the_ttl() -> None:
    seen = walk(["a"])
    seen["a"][MARK] = (Observation("eth1", False, 64), Observation("eth2", True, 64))
    seen["server"][MARK] = (Observation("eth1", False, 64),)
    (problem,) = evaluate(way(["a"]), NAMES, seen).problems
    assert problem.startswith("a does not decrement the TTL")


IN, OUT = Observation("eth1", False, 64), Observation("eth2", True, 63)
BACK = Observation("eth1", True, 63)


@pytest.mark.parametrize(
    ("place", "seen", "words"),
    [
        ("client", (), "client sent .* 0 times"),
        ("server", (Observation("eth1", False, 63),) * 2, "server received .* 2 times"),
        ("server", (Observation("eth0", False, 63),), "server received .* 0 times"),
        ("a", (), "entered a 0 times"),
        ("a", (IN, BACK), "left a by eth1 .* eth2"),
        ("a", (Observation("eth2", False, 64), BACK), "entered a by eth2 .* eth1"),
        ("a", (IN, OUT, OUT, OUT), "left a 3 times"),
    ],
)
def test_what_is_wrong_is_said(place: str, seen: tuple[Observation, ...], words: str) -> None:
    """Once for all packets that it is wrong of."""
    all_seen = walk(["a"])
    all_seen[place][MARK] = seen
    for marks in all_seen.values():
        marks[OTHER] = marks[MARK]
    (problem,) = evaluate(way(["a"], (MARK, OTHER)), NAMES, all_seen).problems
    assert re.search(rf"{words}.* \(2 of 2 packets from client to server\)", problem)


class TestObservations:
    INTERFACES: Mapping[int, str] = {2: "eth1", 3: "eth2"}

    def packet(self, index: int, kind: int, inner: Packet) -> Packet:
        return CookedLinuxV2(proto=0x0800, ifindex=index, pkttype=kind) / inner

    def write(self, path: Path, packets: Sequence[Packet]) -> Path:
        with PcapWriter(str(path), linktype=276) as writer:
            for packet in packets:
                writer.write(packet)
        return path

    def test_scapys_capture_is_read(self, tmp_path: Path) -> None:
        match = Match("udp")
        made = marked_packet(match, *sides(match, CLIENT, SERVER))
        inner = Ether(made.data)[IP]
        inner.ttl = 60
        translated = IP(bytes(inner))
        translated.src = "203.0.113.1"
        other = IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / (b"x" * 16)
        path = self.write(
            tmp_path / "x.pcap",
            [
                self.packet(2, 0, inner),
                self.packet(3, 4, translated),
                self.packet(9, 0, inner),  # an interface that does not count
                self.packet(2, 3, inner),  # for another host
                self.packet(2, 0, other),
                CookedLinuxV2(proto=0x86DD, ifindex=2, pkttype=0) / bytes(inner),
            ],
        )
        assert observe(path, self.INTERFACES, [made.mark]) == {
            made.mark: (Observation("eth1", False, 60), Observation("eth2", True, 60))
        }

    def test_at_the_sffs_end_what_comes_in_has_left_the_instance(self, tmp_path: Path) -> None:
        """And it is for another host there, because the SFF's interface has an address of its
        own."""
        made = marked_packet(Match(), CLIENT, SERVER)
        inner = Ether(made.data)[IP]
        path = self.write(tmp_path / "x.pcap", [self.packet(2, 4, inner), self.packet(3, 3, inner)])
        assert observe(path, self.INTERFACES, [made.mark], at_sff=True) == {
            made.mark: (Observation("eth1", False, 64), Observation("eth2", True, 64))
        }

    def test_nsh_is_read(self, tmp_path: Path) -> None:
        """As scapy writes it; not NSH that carries something else, or is damaged."""
        match = Match("tcp")
        made = marked_packet(match, *sides(match, CLIENT, SERVER))
        inner = Ether(made.data)
        header = NSH(spi=9, si=254, context_header=bytes(16))
        bare = NSH(spi=9, si=254, nextproto=1, context_header=bytes(16)) / inner[IP]
        path = self.write(
            tmp_path / "x.pcap",
            [
                CookedLinuxV2(proto=0x894F, ifindex=2, pkttype=0) / bytes(each)
                for each in (header / inner, bare, bytes(header / inner)[:20])
            ],
        )
        assert observe(path, self.INTERFACES, [made.mark]) == {
            made.mark: (Observation("eth1", False, 64, 9, 254),)
        }

    def test_a_file_that_begins_to_grow_is_empty(self, tmp_path: Path) -> None:
        path = tmp_path / "x.pcap"
        assert observe(path, self.INTERFACES, [MARK]) == {MARK: ()}
        whole = self.write(path, [self.packet(2, 0, IP() / UDP())]).read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            assert observe(path, self.INTERFACES, [MARK]) == {MARK: ()}

    def test_another_link_type_is_refused(self, tmp_path: Path) -> None:
        with PcapWriter(str(tmp_path / "x.pcap"), linktype=1) as writer:
            writer.write(Ether() / IP())
        with pytest.raises(MeasurementError, match="frames of link type 1"):
            observe(tmp_path / "x.pcap", self.INTERFACES, [MARK])


class TestMarks:
    @pytest.mark.parametrize(
        ("protocol", "layer"), [("any", ICMP), ("icmp", ICMP), ("tcp", TCP), ("udp", UDP)]
    )
    def test_scapy_finds_it_and_agrees_with_the_checksums(self, protocol: Any, layer: type) -> None:
        match = Match(protocol)
        made = marked_packet(match, *sides(match, CLIENT, SERVER))
        read = Ether(made.data)
        assert (read[IP].src, read[IP].dst) == ("10.0.0.1", "10.0.0.2")
        assert (read[IP].len, read[IP].proto) == (made.ip_bytes, made.protocol)
        assert bytes(read[layer].payload) == made.mark == mark_of(made.data[14:])
        sums = (read[IP].chksum, read[layer].chksum)
        del read[IP].chksum, read[layer].chksum
        computed = Ether(read.build())
        assert sums == (computed[IP].chksum, computed[layer].chksum)

    def test_ports_are_those_that_the_classifier_wants_and_marks_differ(self) -> None:
        match = Match("tcp", destination_port=80)
        client, server = sides(match, CLIENT, SERVER)
        there, back = marked_packet(match, client, server), marked_packet(match, server, client)
        assert (Ether(there.data)[TCP].dport, Ether(back.data)[TCP].sport) == (80, 80)
        assert there.mark != back.mark

    def test_an_error_that_quotes_the_packet_is_not_the_packet(self) -> None:
        made = marked_packet(Match("udp"), *sides(Match("udp"), CLIENT, SERVER))
        for kind in (3, 11):
            error = IP() / ICMP(type=kind) / made.data[14:]
            assert mark_of(bytes(error)) is None

    def test_options_are_gone_over(self) -> None:
        packet = IP(options=b"\x01" * 4) / TCP(options=[("NOP", None)] * 4) / MARK
        assert mark_of(bytes(packet)) == MARK

    def test_a_fragment_has_none(self) -> None:
        assert mark_of(bytes(IP(frag=1) / UDP() / MARK)) is None

    @given(st.binary(max_size=80))
    def test_any_bytes_are_read(self, data: bytes) -> None:
        found = mark_of(data)
        assert found is None or found in data
