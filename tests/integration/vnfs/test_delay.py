"""The delay between two raw ends: tcpdump's times on both sides are the judge of its own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapReader
from support.needs import compiled
from support.network.wires import Lab, Port, eventually
from support.vnfs.kernel_lab import CLIENT, SERVER, Between

from sfcperf.vnfs.delay.function import BINARY, TUN, TUN_PACKETS, Delay
from sfcperf.vnfs.kernel_forwarding import ip_counters

pytestmark = pytest.mark.root


@pytest.fixture(autouse=True)
def _binary() -> None:
    compiled(BINARY)


def _datagrams(count: int) -> list[Packet]:
    return [
        IP(src=CLIENT, dst=SERVER, id=number) / UDP(sport=5, dport=9) / Raw(b"x" * 200)
        for number in range(1, count + 1)
    ]


def _capture(lab: Lab, port: Port, file: Path) -> None:
    errors = file.with_suffix(".err")
    argv = ["tcpdump", "--immediate-mode", "--time-stamp-precision=nano", "-U"]
    argv += ["-i", port.interface, "-w", str(file), "udp"]
    process = port.host.spawn(argv, stderr=errors)
    lab.at_end(process.stop)
    assert eventually(lambda: errors.exists() and "listening on" in errors.read_text())


def _times(file: Path) -> dict[int, float]:
    """IP identification -> time."""
    with PcapReader(str(file)) as reader:
        return {packet[IP].id: float(packet.time) for packet in reader}


@pytest.mark.parametrize("delay_us", [100, 300_000])
def test_no_packet_comes_early_as_tcpdump_sees_it(lab: Lab, tmp_path: Path, delay_us: int) -> None:
    between = Between(lab, Delay, {"delay_us": delay_us})
    files = [tmp_path / "in.pcap", tmp_path / "out.pcap"]
    _capture(lab, between.ingress, files[0])
    _capture(lab, between.egress, files[1])
    wire, end = between.client.wire(), between.server.wire()
    lab.at_end(wire.close)
    lab.at_end(end.close)
    packets = _datagrams(50)
    wire.send(bytes(Ether(src=between.client.mac, dst=between.ingress.mac) / p) for p in packets)
    assert eventually(lambda: between.function.counters()["forwarded"] == 50)
    assert eventually(lambda: len(_times(files[1])) == 50)
    entered, left = (_times(file) for file in files)
    spent_us = [(left[number] - entered[number]) * 1e6 for number in left]
    assert min(spent_us) >= delay_us
    counters = between.function.counters()
    assert counters["received"] == 50
    # Its own clock begins later and ends earlier than tcpdump's.
    assert delay_us * 1000 <= counters["delay_min_ns"] <= max(spent_us) * 1000
    assert counters["delay_min_ns"] <= counters["delay_max_ns"] <= max(spent_us) * 1000
    assert 50 * counters["delay_min_ns"] <= counters["delay_sum_ns"]
    assert counters["delay_sum_ns"] <= 50 * counters["delay_max_ns"]


def test_packets_stay_as_they_are_but_for_the_ttl(lab: Lab) -> None:
    between = Between(lab, Delay, {"delay_us": 100})
    options = [("MSS", 1400), ("Timestamp", (7, 9)), (254, b"\x50\x54\x01\x02\x03\x04")]
    segment = IP(src=CLIENT, dst=SERVER) / TCP(sport=1, dport=2, options=options) / Raw(b"odd")
    datagram = IP(
        bytes(IP(src=CLIENT, dst=SERVER, len=42) / UDP(sport=5, dport=9, len=11) / Raw(b"abc"))
    )
    trailed = IP(bytes(datagram) + b"\xfe\x0b\x50\x50trailer")
    for packet in (segment, trailed, IP(src=CLIENT, dst=SERVER, flags="MF") / Raw(b"12345678")):
        sent = IP(bytes(packet))
        [arrived] = between.there(sent)
        assert arrived[IP].ttl == sent.ttl - 2
        assert bytes(arrived[IP])[12:] == bytes(sent)[12:]
        back = IP(bytes(sent[IP].copy()))
        back.src, back.dst = SERVER, CLIENT
        [returned] = between.back(back)
        assert bytes(returned[IP])[20:] == bytes(sent)[20:]


def test_order_is_kept_with_many_in_flight(lab: Lab) -> None:
    between = Between(lab, Delay, {"delay_us": 200_000})
    started = time.monotonic()
    arrived = between.there_after(_datagrams(600), 600)
    assert time.monotonic() - started >= 0.2
    assert [packet[IP].id for packet in arrived] == list(range(1, 601))


def test_what_does_not_fit_is_dropped_and_counted(lab: Lab) -> None:
    between = Between(lab, Delay, {"delay_us": 1_000_000, "buffer_mib": 1})
    packet = IP(src=CLIENT, dst=SERVER) / UDP() / Raw(b"x" * 1400)
    wire = between.client.wire()
    lab.at_end(wire.close)
    frame = bytes(Ether(src=between.client.mac, dst=between.ingress.mac) / packet)
    began = time.monotonic()
    wire.send([frame] * 1500)
    assert eventually(lambda: between.function.counters()["received"] == 1500)
    entered_s = time.monotonic() - began

    def settled() -> bool:
        counters = between.function.counters()
        return counters["received"] == 1500 == counters["forwarded"] + counters["dropped_full"]

    assert eventually(settled)
    counters = between.function.counters()
    # The buffer is full once in each delay.
    assert 500 < counters["forwarded"] < 750 * (1 + entered_s // 1)
    assert counters["dropped"] == counters["dropped_full"]


def test_what_the_process_is_too_slow_for_is_counted(lab: Lab) -> None:
    between = Between(lab, Delay, {"delay_us": 0})
    pid = between.function._process._process.pid  # type: ignore[attr-defined]
    wire, count = between.client.wire(), TUN_PACKETS + 500
    lab.at_end(wire.close)
    [frame] = [bytes(Ether(src=between.client.mac, dst=between.ingress.mac) / _datagrams(1)[0])]
    threads = list(Path(f"/proc/{pid}/task").iterdir())

    def stopped() -> bool:
        return all(" T " in (thread / "stat").read_text() for thread in threads)

    os.kill(pid, signal.SIGSTOP)
    try:
        assert eventually(stopped)
        wire.send([frame] * count)
        # All that was sent has come to the device, which takes no more than its queue holds.
        assert eventually(lambda: ip_counters(between.host)["ForwDatagrams"] >= count)
    finally:
        os.kill(pid, signal.SIGCONT)

    def settled() -> bool:
        counters = between.function.counters()
        return counters["received"] == count == counters["forwarded"] + counters["dropped"]

    assert eventually(settled)
    counters = between.function.counters()
    assert counters["dropped"] == counters["dropped_queue"] >= 499


def test_it_comes_and_goes_without_a_trace(lab: Lab) -> None:
    """A death is told, and nothing goes on undelayed."""
    between = Between(lab, Delay, {"delay_us": 100})
    blackholes = ["ip", "route", "show", "table", "all", "type", "blackhole"]
    for _ in range(2):
        between.function.stop()
        assert TUN not in between.host.run(["ip", "link"], timeout_s=10).text
        assert "iif" not in between.host.run(["ip", "rule"], timeout_s=10).text
        assert between.host.run(blackholes, timeout_s=10).text == ""
        between.function = between.restart()
    assert len(between.there_after(_datagrams(5), 5)) == 5
    assert between.function.problem() is None
    os.kill(between.function._process._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    assert eventually(lambda: between.function.problem() is not None)
    assert between.function.problem() == "sfc-delay has ended with status -9"
    sender, receiver = between.client.wire(), between.server.wire()
    ethernet = Ether(src=between.client.mac, dst=between.ingress.mac)
    sender.send(bytes(ethernet / packet) for packet in _datagrams(3))
    assert receiver.drain() == []
    sender.close()
    receiver.close()


def test_packets_for_neither_endpoint_leave_by_the_other_interface(lab: Lab) -> None:
    """As captured traffic that is replayed has them."""
    between = Between(lab, Delay, {"delay_us": 100})
    others = IP(src="203.0.113.1", dst="192.0.2.1") / UDP(sport=5, dport=9) / Raw(b"abc")
    for cross in (between.there, between.back):
        [arrived] = cross(others)
        assert (arrived[IP].dst, arrived[IP].ttl) == (others.dst, others.ttl - 2)
