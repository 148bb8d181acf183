"""The IDS behind a veth: it forwards, makes records, and never waits for who takes them."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw
from support.needs import compiled
from support.network.wires import Lab, eventually, ip, space
from support.schemas import validator
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import Bench

from sfcperf.errors import DeploymentError
from sfcperf.hosts.process import inside
from sfcperf.vnfs.base import Management
from sfcperf.vnfs.ids.features import NAMES
from sfcperf.vnfs.ids.function import BINARY, Ids, RunningIds

pytestmark = pytest.mark.root

MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench(lab: Lab) -> MakeBench:
    """Start an IDS with a veth to its SFF."""
    compiled(BINARY)

    def make(*, vcpus: tuple[int, ...] = (), **knobs: Any) -> Bench:
        others: dict[str, Any] = {"services": {"kafka": "127.0.0.1:9"}}
        if namespace := knobs.pop("managed_from", None):
            others["management"] = Management("127.0.0.1", namespace)
        vcpus = vcpus or (min(os.sched_getaffinity(0)),)
        made = started_behind_sff(lab, Ids, "ids-1", knobs, vcpus=vcpus, **others)
        assert isinstance(made.function, RunningIds)
        return made

    return make


def _ended(bench: Bench, lab: Lab) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Records in the file and the last counters, once the IDS has ended."""
    bench.function.stop()
    (file,) = lab.outputs.glob("ids-1-*.records.jsonl")
    found = [json.loads(line) for line in file.read_text().splitlines()]
    return found, dict(bench.function.counters())


def _frame(bench: Bench, packet: Packet, spi: int = 42) -> Packet:
    following = 2 if packet.haslayer(IPv6) else 1
    return bench.frame(NSH(spi=spi, si=255, context_header=bytes(16), nextproto=following) / packet)


def _column(record: dict[str, Any], name: str) -> Any:
    return record["features"][NAMES.index(name)]


def test_both_directions_of_a_flow_are_one_record(make_bench: MakeBench, lab: Lab) -> None:
    bench = make_bench(window_s=60)
    there = IP(src="10.0.0.1", dst="10.0.0.2", tos=46 << 2) / TCP(sport=999, dport=80, flags="PA")
    back = IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=80, dport=999, flags="AU") / Raw(b"abc")
    frames = [_frame(bench, there), _frame(bench, back, 1 << 23 | 42), _frame(bench, back)]
    cut = Raw(bytes(IP(src="10.0.0.1", dst="10.0.0.2", proto=6, len=40))[:20])
    header = NSH(spi=42, si=255, context_header=bytes(16), nextproto=1)
    answers = bench.exchange(*frames, _frame(bench, there), bench.frame(header / cut))
    assert len(answers) == 5
    records, counters = _ended(bench, lab)
    validate = validator("flow-record").validate
    for record in records:
        validate(record)
    # Windows end at whole minutes, so that one may have ended meanwhile.
    assert [record["kind"] for record in records].count("early") == 1
    for record in records:
        assert record["features"][:5] == ["10.0.0.1", 999, "10.0.0.2", 80, 6]
    (early,) = [record for record in records if record["kind"] == "early"]
    for name, value in {
        "total_fpackets": 2,
        "total_fvolume": 80,
        "total_bpackets": 2,
        "total_bvolume": 86,
        "fpsh_cnt": 2,
        "burg_cnt": 2,
        "total_bhlen": 80,
        "dscp": 46,
        "class": None,
    }.items():
        assert _column(early, name) == value, name
    assert early["source"] == "ids-1"
    assert counters["records_made"] == counters["records_sent"] == len(records)
    assert counters["records_lost"] == counters["flows_evicted"] == 0
    assert counters["malformed"] == 2  # the one that is cut, and that which ends an exchange
    assert (counters["received"], counters["forwarded"], counters["dropped"]) == (6, 6, 0)


def test_both_directions_meet_on_one_thread_of_several(make_bench: MakeBench, lab: Lab) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    bench = make_bench(window_s=60, early_packets=0, vcpus=(cpus[0], cpus[-1]))
    frames = []
    for port in range(1000, 1064):
        there = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=port, dport=53)
        back = IP(src="10.0.0.2", dst="10.0.0.1") / UDP(sport=53, dport=port)
        six = IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=port, dport=53)
        six_back = IPv6(src="fd00::2", dst="fd00::1") / UDP(sport=53, dport=port)
        frames += [_frame(bench, p) for p in (there, six)]
        frames += [_frame(bench, p, 1 << 23 | 42) for p in (back, six_back)]
    bench.wire.send([bytes(frame) for frame in frames])
    counters = bench.counted(lambda now: now["forwarded"] == len(frames))
    assert min(counters["forwarded_worker0"], counters["forwarded_worker1"]) > 0
    records, _ = _ended(bench, lab)
    packets: dict[tuple[Any, ...], list[int]] = {}
    for record in records:
        total = packets.setdefault(tuple(record["features"][:2]), [0, 0])
        total[0] += _column(record, "total_fpackets")
        total[1] += _column(record, "total_bpackets")
    assert len(packets) == 128
    assert all(sum(total) == 2 for total in packets.values())


def test_flows_beyond_the_table_lose_no_packets_of_records(make_bench: MakeBench, lab: Lab) -> None:
    """Nor do frames that wait as it ends."""
    bench = make_bench(window_s=60, flows=16, early_packets=0)
    packets = [IP(src=f"10.0.{n}.1", dst="10.1.0.1") / UDP(sport=5, dport=9) for n in range(250)]
    (pid,) = bench.function.pids()
    os.kill(pid, signal.SIGSTOP)
    bench.wire.send([bytes(_frame(bench, packet)) for packet in packets])
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    records, counters = _ended(bench, lab)
    assert counters["forwarded"] == len(packets)
    assert {_column(record, "srcip") for record in records} == {p[IP].src for p in packets}
    assert counters["flows_evicted"] >= len(packets) - 16
    assert counters["records_made"] == counters["records_sent"] == len(records)


@pytest.fixture
def silent_broker(lab: Lab) -> Iterator[tuple[str, Any]]:
    """Accepts connections and never answers, in a namespace of its own: address and namespace."""
    host = lab.host("management")
    ip("-n", space(host), "link", "set", "lo", "up")
    assert host.namespace is not None
    with inside(host.namespace):
        listener = socket.create_server(("127.0.0.1", 0))
    yield f"127.0.0.1:{listener.getsockname()[1]}", host.namespace
    listener.close()


def test_a_silent_broker_costs_records_and_no_packets(
    make_bench: MakeBench, lab: Lab, silent_broker: tuple[str, Any]
) -> None:
    broker, namespace = silent_broker
    bench = make_bench(window_s=0.1, early_packets=1, kafka=broker, managed_from=namespace)
    packets = [IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=n, dport=9) for n in range(1, 501)]
    answers = bench.exchange(*(_frame(bench, packet) for packet in packets))
    assert len(answers) == 500
    bench.counted(lambda now: now["records_made"] >= 1000)
    bench.function.stop()
    counters = bench.function.counters()
    assert counters["forwarded"] == 501
    assert counters["records_sent"] == 0
    assert counters["records_lost"] == counters["records_made"] >= 1000
    assert counters["records_lost_not_delivered"] > 0


def test_a_broker_that_is_away_does_not_keep_it_from_starting(make_bench: MakeBench) -> None:
    bench = make_bench(kafka="kafka")
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5, dport=9)
    assert len(bench.exchange(*[_frame(bench, packet)] * 10)) == 10
    assert bench.function.problem() is None
    bench.function.stop()
    counters = bench.function.counters()
    assert counters["records_made"] == counters["records_lost"] > 0


def test_an_unknown_service_is_refused(make_bench: MakeBench) -> None:
    with pytest.raises(DeploymentError, match=r"'rabbit'.*neither a service") as refused:
        make_bench(kafka="rabbit")
    assert refused.value.hint == "services: kafka"


def test_windows_end_without_packets_and_a_death_is_told(make_bench: MakeBench, lab: Lab) -> None:
    bench = make_bench(window_s=0.1, early_packets=0)
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5, dport=9)
    assert len(bench.exchange(_frame(bench, packet))) == 1
    bench.counted(lambda now: now["records_sent"] == 1)
    (file,) = lab.outputs.glob("ids-1-*.records.jsonl")
    assert eventually(lambda: file.read_text().count("\n") == 1)
    (pid,) = bench.function.pids()
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: bench.function.problem() is not None)
    assert bench.function.problem() == "sfc-ids has ended with status -9"


def test_a_flood_of_flows_with_one_packet_has_records_before_its_window_ends(
    make_bench: MakeBench, lab: Lab
) -> None:
    bench = make_bench(window_s=60)
    packets = [IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=n, dport=80) for n in range(1, 49)]
    bench.wire.send([bytes(_frame(bench, packet)) for packet in packets])
    (file,) = lab.outputs.glob("ids-1-*.records.jsonl")

    def early() -> list[dict[str, Any]]:
        found = [json.loads(line) for line in file.read_text().splitlines(keepends=True)[:-1]]
        return [record for record in found if record["kind"] == "early"]

    # All 48, but for 16 if a window, which ends at whole minutes, ended among them.
    assert eventually(lambda: len(early()) >= 31)
    records, counters = _ended(bench, lab)
    reported = [record for record in records if record["kind"] == "early"]
    assert len(reported) in (32, 48)
    assert all(_column(record, "total_fpackets") == 1 for record in reported)
    assert counters["records_made"] == counters["records_sent"] == len(reported) + len(packets)
