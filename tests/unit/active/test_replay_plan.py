"""Which packets of a trace are sent, and what two captures say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapWriter
from support.probing import made as probe_made

from sfcperf.active.labelled_traffic import LabelledTraffic
from sfcperf.active.labelled_traffic.replay import Replay
from sfcperf.active.labelled_traffic.replay_plan import Key, ReplayPlan, plan, replayed
from sfcperf.errors import InputError, MeasurementError
from sfcperf.packets.five_tuple import flow_of
from sfcperf.packets.identity import identity
from sfcperf.results.kinds import PROBE, kind_of, of_kind
from sfcperf.traffic.split import trains

USER, ATTACKER, SERVER = "198.51.100.1", "203.0.113.9", "192.0.2.1"
LABELS = (
    "start_s,end_s,protocol,address,port,other_address,other_port,label\n"
    f",,,{ATTACKER}/32,,,,flood\n,,,{USER}/32,,,,benign\n"
)
MS = 1_000_000


def write(folder: Path, packets: Sequence[Packet]) -> tuple[Path, Path]:
    """A capture with a packet each millisecond, and its labels."""
    pcap, labels = folder / "trace.pcap", folder / "labels.csv"
    with PcapWriter(str(pcap)) as writer:
        for number, packet in enumerate(packets):
            packet.time = 1000 + number / 1000
            writer.write(packet)
    labels.write_text(LABELS)
    return pcap, labels


def tcp(source: str, port: int, number: int = 0) -> Packet:
    return Ether() / IP(src=source, dst=SERVER, id=number) / TCP(sport=port, dport=80, seq=number)


def made(folder: Path, packets: Sequence[Packet], share: float = 0) -> ReplayPlan:
    return plan(*write(folder, packets), 1, share)


def test_flows_that_train_are_left_out_in_both_directions(tmp_path: Path) -> None:
    there = [tcp(USER, port) for port in range(1000, 1200)]
    back = [
        Ether() / IP(src=SERVER, dst=USER) / TCP(sport=80, dport=port, seq=5)
        for port in range(1000, 1200)
    ]
    found = made(tmp_path, [*there, *back], share=0.3)
    flows = [flow_of(bytes(packet)) for packet in (*there, *back)]
    stay = [flow for flow in flows if flow and not trains(flow, 1, 0.3)]
    assert [packet.flow for packet in found.packets] == stay
    assert found.left_out["training"] == len(flows) - len(stay) > 0
    ports = {p.flow.source_port for p in found.packets} - {80}
    assert ports == {p.flow.destination_port for p in found.packets} - {80}


def test_labels_and_times_are_those_of_the_trace(tmp_path: Path) -> None:
    stranger = Ether() / IP(src="10.9.9.9", dst=SERVER) / UDP(sport=5, dport=6)
    found = made(tmp_path, [tcp(USER, 1), tcp(ATTACKER, 2), stranger])
    assert [packet.label for packet in found.packets] == ["benign", "flood", None]
    assert [packet.time_ns for packet in found.packets] == [0, MS, 2 * MS]
    assert found.span_s == pytest.approx(0.002)
    assert found.longest_ip_bytes == 40


def test_what_no_chain_carries_is_left_out(tmp_path: Path) -> None:
    martians = [tcp(a, 1) for a in ("224.0.0.5", "127.0.0.1", "0.1.2.3", "255.255.255.255")]
    others = [Ether() / ARP(pdst=SERVER), Ether() / IPv6(dst="2001:db8::1") / UDP()]
    found = made(tmp_path, [tcp(USER, 1), *martians, *others])
    assert len(found.packets) == 1
    assert found.left_out == {"training": 0, "not_ipv4": 1, "martian": 4, "ethertype_0x0806": 1}
    assert found.without([USER]).left_out["endpoint_addresses"] == 1
    endpoints: Any = SimpleNamespace(
        client=SimpleNamespace(address=USER), server=SimpleNamespace(address="10.0.0.1")
    )
    with pytest.raises(MeasurementError, match=f"all packets are from or to.*{USER}"):
        Replay(found, 1, endpoints, tmp_path)


def test_vlan_tags_are_taken_off(tmp_path: Path) -> None:
    """Endpoints have no VLANs."""
    tagged = Ether() / Dot1Q(vlan=5) / tcp(USER, 1).payload
    found = made(tmp_path, [tagged, tcp(USER, 2), Ether() / Dot1Q() / tcp("127.0.0.1", 3).payload])
    assert [packet.frame[12:14] for packet in found.packets] == [b"\x08\x00"] * 2
    assert [packet.flow.source_port for packet in found.packets] == [1, 2]
    assert found.keys[0] == (flow_of(bytes(tcp(USER, 1))), identity(bytes(tcp(USER, 1))))
    assert found.longest_ip_bytes == 40
    assert (found.left_out["martian"], found.frames) == (1, 3)


def test_frames_that_nobody_knows_are_doubtful(tmp_path: Path) -> None:
    mpls = Ether(type=0x8847) / Raw(b"\0\1\1\x40" + bytes(tcp(USER, 1))[14:])
    found = made(tmp_path, [mpls, tcp(USER, 2)])
    assert found.left_out["ethertype_0x8847"] == 1
    assert list(found.left_out.doubts(found.frames))
    with pytest.raises(InputError, match=r"no IPv4 packets.*EtherType 0x8847"):
        made(tmp_path, [mpls])


def test_a_damaged_capture_is_refused_with_the_place(tmp_path: Path) -> None:
    pcap, labels = write(tmp_path, [tcp(USER, port) for port in range(1, 9)])
    whole = pcap.read_bytes()
    at = len(whole) - 3 * 70  # a record of the third last packet
    for content, place in ((whole[:-1], len(whole) - 70), (whole[:at] + b"\xff" * 210, at)):
        pcap.write_bytes(content)
        with pytest.raises(InputError) as caught:
            plan(pcap, labels, 1, 0)
        assert caught.value.where == f"{pcap}, byte {place}"


def test_packets_that_nobody_can_send_so_are_refused(tmp_path: Path) -> None:
    """A packet without a length was captured before the network card divided it."""
    whole = bytes(tcp(USER, 1) / Raw(b"x" * 100))
    for packets, message in (
        ([tcp(USER, 1), Ether() / IP(src=USER, dst=SERVER, len=0) / TCP()], "IPv4 length is 0"),
        ([Ether(whole[:60])], "the first 60 bytes of a packet, not all 154"),
        ([Ether() / ARP(pdst=SERVER)], "no IPv4 packets"),
    ):
        with pytest.raises(InputError, match=message):
            made(tmp_path, packets)
    with pytest.raises(InputError, match="cannot be read"):
        plan(tmp_path / "none.pcap", tmp_path / "labels.csv", 1, 0)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    assert len(made(tmp_path, [tcp(USER, 1)]).packets) == 1
    assert len(made(tmp_path, [tcp(USER, 1), tcp(USER, 2)]).packets) == 2


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> ReplayPlan:
    packets = [tcp((USER, ATTACKER)[n % 2], 1000 + n % 7, n) for n in range(100)]
    return made(tmp_path_factory.mktemp("plan"), packets)


@given(stopped=st.sets(st.integers(0, 99)), speed=st.sampled_from([0.5, 1.0, 4.0]))
def test_each_packet_has_its_fate(hundred: ReplayPlan, stopped: set[int], speed: float) -> None:
    keys: Sequence[Key] = hundred.keys
    before = [(key, round(number * MS / speed)) for number, key in enumerate(keys)]
    behind = [(key, at + 5) for n, (key, at) in enumerate(before) if n not in stopped]
    found = replayed(hundred, speed, before, reversed(behind))
    assert [fate.passed for fate in found.fates] == [n not in stopped for n in range(100)]
    assert [fate.sent_ns for fate in found.fates] == [at for _, at in before]
    assert [fate.label for fate in found.fates[:2]] == ["benign", "flood"]
    assert (found.sent, found.arrived) == (100, 100 - len(stopped))
    assert (found.not_sent, found.duplicated, found.ambiguous) == (0, 0, 0)
    assert max(found.late_ns) <= 1  # rounding of the times above


def test_foreign_twice_seen_and_missing_packets(hundred: ReplayPlan) -> None:
    keys = list(hundred.keys)
    foreign = (flow_of(bytes(tcp("10.1.1.1", 9))), None)
    before = [(key, n * MS) for n, key in enumerate(keys[:60])]
    behind = [(key, n) for n, key in enumerate([*keys[:60], keys[3], keys[70]])]
    found = replayed(hundred, 1, [*before, (foreign, 5)], behind)
    assert (found.sent, found.arrived, found.not_sent, found.duplicated) == (60, 60, 40, 2)


def test_of_packets_that_are_alike_the_last_ones_were_stopped(tmp_path: Path) -> None:
    echo = Ether() / IP(src=ATTACKER, dst=SERVER, id=1) / ICMP(id=1, seq=1)
    alike = made(tmp_path, [echo] * 4)
    before = [(key, n * MS) for n, key in enumerate(alike.keys)]
    found = replayed(alike, 1, before, before[:3])
    assert [fate.passed for fate in found.fates] == [True, True, True, False]
    assert found.ambiguous == 4
    assert replayed(alike, 1, before, []).ambiguous == 0


def test_lateness_is_relative_to_the_earliest(hundred: ReplayPlan) -> None:
    before = [(key, n * MS + 10**9 + (n == 50) * 3 * MS) for n, key in enumerate(hundred.keys)]
    found = replayed(hundred, 1, before, before)
    assert sorted(found.late_ns)[-2:] == [0, 3 * MS]


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"pcap": "/data/day.pcap"}, "pcap"),
        ({"labels": "/data/day.csv"}, "labels"),
        ({"pcap": "day.pcap", "labels": "/data/day.csv"}, "pcap"),
        ({"pcap": "/data/day.pcap", "labels": "day.csv"}, "labels"),
    ],
)
def test_a_capture_has_labels_and_absolute_paths(given: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelledTraffic.check(given)
    assert caught.value.where == where


def test_it_takes_as_long_as_the_trace() -> None:
    parameters = probe_made(LabelledTraffic, duration_s=30, speed=2).parameters
    LabelledTraffic.check(parameters)
    assert LabelledTraffic.duration_s(parameters) == 15


def test_kinds_are_any_text_and_metrics_of_other_probes_have_none() -> None:
    sample = of_kind("Flut, große 1.0", "recall", "1", 1)
    assert kind_of(PROBE, sample.metric) == ("Flut--gro-e-1-0", "recall")
    assert kind_of(PROBE, "recall") is None
    assert kind_of("other", sample.metric) is None
