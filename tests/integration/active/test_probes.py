"""Real tools over a real cable, healthy and made worse on purpose."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable, listeners, processes_in
from support.probing import made, measure, measure_in_peace, measure_until, values

from sfcperf.active.ab import Ab
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.ditg import Ditg
from sfcperf.active.dns import Dns
from sfcperf.active.httperf import Httperf
from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.ping import Ping
from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NamespaceHost

pytestmark = pytest.mark.root
SHAPED = ("tbf", "rate", "5mbit", "burst", "10kb", "limit", "20kb")


def test_an_adaptive_ping_sends_when_a_reply_has_come(wire: Cable, tmp_path: Path) -> None:
    result = measure(wire, tmp_path, Ping, count=100, interval_s=0.2, adaptive=True)
    assert len(result.series["rtt_us"]) == 100
    assert result.notes["elapsed_s"] < 99 * 0.2 / 2


def test_ping(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(wire, tmp_path, Ping, count=10, interval_s=0.02)
    seen = values(result)
    echoes = result.series["rtt_us"]
    assert len(echoes) == 10
    assert sum(echoes) / 10 == pytest.approx(seen["rtt_us"], rel=0.02, abs=1)
    assert seen["loss_ratio"] == 0
    assert 0 < seen["rtt_min_us"] <= seen["rtt_median_us"] <= seen["rtt_max_us"] < 1e6
    assert seen["rtt_min_us"] <= seen["rtt_us"] <= seen["rtt_max_us"]
    assert list(seen) == [metric.name for metric in Ping.metrics({})]
    # A retried trial starts with clean files.
    measure(wire, tmp_path, Ping, count=2, interval_s=0.01)
    said = (tmp_path / "ping.txt").read_text()
    assert "2 packets transmitted" in said and "10 packets transmitted" not in said


def test_a_late_reply_is_not_lost(wire: Cable, tmp_path: Path) -> None:
    """The middle lets the first requests pass and each other one 0.4 s later than the one before
    it; ping has ended by then."""
    wire.shape("middle", "tbf", "rate", "2kbit", "burst", "400", "limit", "2000")
    result = measure(wire, tmp_path, Ping, count=6, interval_s=0.005, timeout_s=10)
    assert values(result)["loss_ratio"] == 0
    assert result.notes["received"] + result.notes["late_replies"] == 6
    assert any("after ping had stopped waiting" in reason for reason in result.untrusted)


def test_iperf3_tcp_is_as_asked(wire: Cable, tmp_path: Path) -> None:
    asked = {"rate_bps": 20_000_000, "streams": 2, "payload_bytes": 1000, "write_bytes": 2000}
    result = measure_in_peace(wire, tmp_path, Iperf3, duration_s=1, congestion="reno", **asked)
    seen = values(result)
    assert set(seen) == {"rate_bps", "sent_bps", "retransmits"}
    assert seen["rate_bps"] == pytest.approx(20e6, rel=0.1)
    assert result.series["rate_bps"] == pytest.approx([seen["rate_bps"]], rel=0.2)
    assert result.notes["congestion_control"] == "reno"
    start = json.loads((tmp_path / "iperf3-client.json").read_text())["start"]
    assert (start["tcp_mss"], start["test_start"]["blksize"]) == (1000, 2000)


def test_iperf3_udp_at_a_rate(wire: Cable, tmp_path: Path) -> None:
    asked = {"rate_bps": 4_000_000, "payload_bytes": 1000, "duration_s": 1, "omit_s": 1}
    seen = values(measure_in_peace(wire, tmp_path, Iperf3, protocol="udp", **asked))
    assert seen["loss_ratio"] == 0
    assert seen["rate_pps"] == pytest.approx(500, rel=0.1)
    assert seen["rate_bps"] == pytest.approx(4e6, rel=0.1)
    assert json.loads((tmp_path / "iperf3-server.json").read_text())["end"]


def test_loss_in_the_chain_is_a_result(wire: Cable, tmp_path: Path) -> None:
    wire.shape("middle", *SHAPED)
    result = measure_in_peace(
        wire, tmp_path, Iperf3, protocol="udp", rate_bps=20_000_000, duration_s=1, omit_s=1
    )
    seen = values(result)
    assert 0 < seen["rate_bps"] < 5.5e6
    # Two ways to see the same: sequence numbers at the receiver, bytes at both ends.
    arrived = seen["rate_bps"] / seen["sent_bps"]
    assert seen["loss_ratio"] == pytest.approx(1 - arrived, abs=0.05)
    start = json.loads((tmp_path / "iperf3-client.json").read_text())["start"]
    assert start["test_start"]["blksize"] == 1500 - 28  # fills the MTU
    # At maximum, too.
    seen = values(measure_in_peace(wire, tmp_path, Iperf3, protocol="udp", duration_s=1))
    assert 0 < seen["rate_bps"] < 5.5e6
    assert seen["loss_ratio"] > 0.5


def test_loss_at_the_end_counts(wire: Cable, tmp_path: Path) -> None:
    """No later datagram tells the receiver that some are missing."""
    probe = made(Iperf3, protocol="udp", rate_bps=4_000_000, payload_bytes=1000, duration_s=5)
    result = measure_until(wire, tmp_path, probe, 100, wire.drop_udp)
    notes = result.notes
    assert notes["datagrams_unread"] == 0
    lost = notes["datagrams_sent"] - notes["datagrams_received"]
    assert lost > 100
    assert values(result)["loss_ratio"] == pytest.approx(lost / notes["datagrams_sent"])


def test_a_receiver_that_is_held_up_has_lost_nothing(wire: Cable, tmp_path: Path) -> None:
    """Its socket holds what it has not read when the test is over."""
    probe = made(Iperf3, protocol="udp", rate_bps=400_000, payload_bytes=1000, duration_s=3)

    def hold_up() -> None:
        os.kill(probe._server.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(probe._server.pid, signal.SIGCONT)

    result = measure_until(wire, tmp_path, probe, 30, hold_up)
    assert result.untrusted == ()
    assert result.notes["datagrams_unread"] > 10
    assert values(result)["loss_ratio"] == 0


def test_udp_lost_by_the_sender_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """At a rate, and at maximum."""
    wire.shape("client", *SHAPED)
    for asked in ({"rate_bps": 20_000_000, "streams": 2}, {}):
        result = measure(wire, tmp_path, Iperf3, protocol="udp", duration_s=1, **asked)
        assert any("the sender itself lost" in reason for reason in result.untrusted)
        assert result.notes["sender_lost_datagrams"] > 100


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_rate_beyond_the_sender_is_untrusted(wire: Cable, tmp_path: Path, protocol: str) -> None:
    given = {"protocol": protocol, "rate_bps": 20_000_000, "socket_buffer_bytes": 65_536}
    # A long queue: the sender is held back by its socket's buffer and loses nothing.
    wire.shape("client", "tbf", "rate", "5mbit", "burst", "10kb", "limit", "4mb")
    result = measure(wire, tmp_path, Iperf3, duration_s=1, **given)
    assert any("of the 20.000 Mbit/s requested" in reason for reason in result.untrusted)


def test_refused_sends_make_ping_untrusted(wire: Cable, tmp_path: Path) -> None:
    """The client's own queue holds three requests, and lets out ten per second."""
    wire.shape("client", "tbf", "rate", "8kbit", "burst", "300", "limit", "300")
    result = measure(wire, tmp_path, Ping, count=20, interval_s=0.005, timeout_s=0.2)
    assert any("the sender" in reason for reason in result.untrusted)


def test_a_ping_that_was_held_up_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """It is stopped for less than its timeout, and every reply comes: only the time tells."""
    probe = made(Ping, count=4, interval_s=0.5, timeout_s=2)
    probe.prepare(wire.deployment, tmp_path)
    results: list[ProbeResult] = []
    thread = threading.Thread(
        target=lambda: results.append(probe.measure(wire.deployment, tmp_path))
    )
    thread.start()
    while "icmp_seq=2" not in _text(tmp_path / "ping.txt"):
        assert thread.is_alive()
    (pid,) = processes_in(wire.spaces["client"])
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(pid, signal.SIGCONT)
    thread.join(20)
    (result,) = results
    assert values(result)["loss_ratio"] == 0
    assert any("the sender was held up" in reason for reason in result.untrusted)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_queue_that_lets_nothing_out_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    wire.shape("client", "bfifo", "limit", "150")
    with pytest.raises(MeasurementError, match="No buffer space"):
        measure(wire, tmp_path, Ping, count=3, interval_s=0.01, payload_bytes=400)


def test_a_cut_chain_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    wire.cut()
    with pytest.raises(MeasurementError, match="no reply to any of 2"):
        measure(wire, tmp_path, Ping, count=2, timeout_s=0.1)
    with pytest.raises(MeasurementError, match="unable to connect"):
        measure(wire, tmp_path, Iperf3, duration_s=1)
    assert listeners(wire.deployment.server.host) == ""


def test_a_chain_cut_in_mid_test_ends_in_bounded_time(wire: Cable, tmp_path: Path) -> None:
    """The tool hangs; it is stopped."""
    probe = made(Httperf, calls_per_connection=1_000_000, timeout_s=60, max_duration_s=1)
    probe.prepare(wire.deployment, tmp_path)
    timer = threading.Timer(0.5, wire.cut)
    timer.start()
    try:
        with pytest.raises(MeasurementError, match="did not end within 1 s and was stopped"):
            probe.measure(wire.deployment, tmp_path)
    finally:
        timer.join()
        probe.cleanup()
    for space in wire.spaces.values():
        assert not processes_in(space)


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Ping, {}), (Iperf3, {"protocol": "udp", "duration_s": 1, "rate_bps": 1_000_000})],
)
def test_payloads_up_to_the_mtu(
    wire: Cable, tmp_path: Path, kind: type[Probe], given: dict[str, Any]
) -> None:
    largest = 1500 - 20 - 8
    measure_in_peace(wire, tmp_path, kind, payload_bytes=largest, **given)
    with pytest.raises(MeasurementError, match=f"up to {largest}"):
        measure(wire, tmp_path, kind, payload_bytes=largest + 1, **given)


@contextmanager
def squatter(host: NamespaceHost, port: int, *options: str) -> Iterator[None]:
    """Another program at this port, as an image that serves iperf3 from its start."""
    process = host.spawn(["iperf3", "-s", "-p", str(port), *options])
    try:
        while f":{port}" not in listeners(host):
            assert process.poll() is None
        yield
    finally:
        process.stop()


ANY_ADDRESS, IPV4 = (), ("-4",)


@pytest.mark.server
@pytest.mark.parametrize(
    ("kind", "usual_port", "options", "given"),
    [
        (Iperf3, 5201, IPV4, {"duration_s": 1, "rate_bps": 1_000_000}),
        (Iperf3, 5201, ANY_ADDRESS, {"duration_s": 1, "protocol": "udp", "rate_bps": 1_000_000}),
        (Httperf, 8080, IPV4, {"calls_per_connection": 10}),
        (Ab, 8080, ANY_ADDRESS, {"requests": 100}),
        (Ditg, 8999, IPV4, {"duration_s": 0.3, "rate_bps": 100_000}),
        (Dns, 53, ANY_ADDRESS, {"duration_s": 0.2}),
    ],
    ids=["iperf3-tcp", "iperf3-udp", "httperf", "ab", "ditg", "dns"],
)
def test_a_port_that_another_program_uses(
    wire: Cable, tmp_path: Path, kind: type[Probe], usual_port: int, options: tuple[str, ...],
    given: dict[str, Any],
) -> None:  # fmt: skip
    """A probe takes the next one, unless the workflow asks for this one."""
    with squatter(wire.deployment.server.host, usual_port, *options):
        assert measure(wire, tmp_path, kind, **given).notes["port"] == usual_port + 1
        with pytest.raises(MeasurementError, match=f"port {usual_port} is taken"):
            measure(wire, tmp_path, kind, port=usual_port)
    assert measure(wire, tmp_path, kind, **given).notes["port"] == usual_port


@pytest.mark.server
def test_every_port_of_a_web_server_must_be_free(wire: Cable, tmp_path: Path) -> None:
    with (
        squatter(wire.deployment.server.host, 8082),
        pytest.raises(MeasurementError, match="port 8082 is taken"),
    ):
        measure(wire, tmp_path, Ab, requests=100, port=80, server_ports=[8081, 8082])


@pytest.mark.server
def test_a_web_test_that_the_time_ends(wire: Cable, tmp_path: Path) -> None:
    """Fewer requests than there could be are no reason to doubt it."""
    result = measure_in_peace(wire, tmp_path, Ab, duration_s=1, concurrency=1)
    assert result.notes["requests"] < 100_000
    assert result.notes["duration_s"] >= 1


@pytest.mark.server
@pytest.mark.parametrize("kind", [Iperf3, Ab, Dns])
def test_a_server_that_cannot_serve_is_told(wire: Cable, tmp_path: Path, kind: type[Probe]) -> None:
    """With the tool's own reason: iperf3 gives it on its standard output."""
    elsewhere = replace(wire.deployment.server, address="203.0.113.1")
    probe = made(kind)
    with pytest.raises(MeasurementError, match=r"instead of serving: .*Cannot assign requested"):
        probe.prepare(replace(wire.deployment, server=elsewhere), tmp_path)
    probe.cleanup()
    assert not processes_in(wire.spaces["server"])


def test_a_congestion_control_that_is_not_there(wire: Cable, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="iperf3 failed"):
        measure(wire, tmp_path, Iperf3, duration_s=1, congestion="nosuch")
