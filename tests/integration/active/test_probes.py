"""Real tools over a real cable, healthy and made worse on purpose."""

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cable import SERVER, Cable, cable, ended, listeners, processes_in

from sfcperf.active.ab import Ab
from sfcperf.active.base import Probe, ProbeResult
from sfcperf.active.httperf import Httperf
from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.ping import Ping
from sfcperf.errors import MeasurementError

pytestmark = pytest.mark.root
SHAPED = ("tbf", "rate", "5mbit", "burst", "10kb", "limit", "20kb")


@pytest.fixture
def wire() -> Iterator[Cable]:
    with cable() as made:
        yield made


def made(kind: type[Probe], **given: Any) -> Probe:
    properties = kind.parameters["properties"]
    return kind({n: p["default"] for n, p in properties.items() if "default" in p} | given)


def measure(wire: Cable, raw: Path, kind: type[Probe], **given: Any) -> ProbeResult:
    probe = made(kind, **given)
    try:
        probe.prepare(wire.deployment, raw)
        return probe.measure(wire.deployment, raw)
    finally:
        probe.cleanup()


def measure_in_peace(wire: Cable, raw: Path, kind: type[Probe], **given: Any) -> ProbeResult:
    """A trusted result, in one of a few tries: the machine has other things to do as well."""
    for _ in range(4):
        result = measure(wire, raw, kind, **given)
        if not result.untrusted:
            break
    assert result.untrusted == ()
    return result


def values(result: ProbeResult) -> dict[str, float]:
    return {sample.metric: sample.value for sample in result.samples}


# Healthy


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
    assert "10 packets transmitted" in (tmp_path / "ping.txt").read_text()


def test_iperf3_tcp_at_a_rate(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(
        wire, tmp_path, Iperf3, rate_bps=20_000_000, duration_s=1, streams=2, congestion="reno"
    )
    seen = values(result)
    assert seen["rate_bps"] == pytest.approx(20e6, rel=0.1)
    assert result.series["rate_bps"] == pytest.approx([seen["rate_bps"]], rel=0.2)
    assert result.notes["congestion_control"] == "reno"
    assert set(seen) == {"rate_bps", "sent_bps", "retransmits"}


def test_iperf3_tcp_segments_are_as_asked(wire: Cable, tmp_path: Path) -> None:
    measure(wire, tmp_path, Iperf3, rate_bps=1_000_000, duration_s=1, payload_bytes=1000)
    report = json.loads((tmp_path / "iperf3-client.json").read_text())
    assert report["start"]["tcp_mss"] == 1000


def test_iperf3_tcp_writes_are_as_asked(wire: Cable, tmp_path: Path) -> None:
    """At a low rate, small writes leave one by one."""
    result = measure_in_peace(
        wire, tmp_path, Iperf3, rate_bps=500_000, duration_s=1, write_bytes=1000
    )
    report = json.loads((tmp_path / "iperf3-client.json").read_text())
    assert report["start"]["test_start"]["blksize"] == 1000
    assert values(result)["rate_bps"] == pytest.approx(500_000, rel=0.1)


def test_iperf3_udp_at_a_rate(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(
        wire,
        tmp_path,
        Iperf3,
        protocol="udp",
        rate_bps=4_000_000,
        payload_bytes=1000,
        duration_s=1,
        omit_s=1,
    )
    seen = values(result)
    assert seen["loss_ratio"] == 0
    assert seen["rate_pps"] == pytest.approx(500, rel=0.1)
    assert seen["rate_bps"] == pytest.approx(4e6, rel=0.1)
    assert json.loads((tmp_path / "iperf3-server.json").read_text())["end"]


def test_iperf3_udp_fills_the_mtu_unless_told_otherwise(wire: Cable, tmp_path: Path) -> None:
    measure(wire, tmp_path, Iperf3, protocol="udp", rate_bps=1_000_000, duration_s=1)
    report = json.loads((tmp_path / "iperf3-client.json").read_text())
    assert report["start"]["test_start"]["blksize"] == 1500 - 28


@pytest.mark.server
def test_httperf_closed_loop(wire: Cable, tmp_path: Path) -> None:
    result = measure(wire, tmp_path, Httperf, connections=4, duration_s=1.5, object_bytes=3000)
    seen = values(result)
    assert seen["errors"] == 0
    assert seen["replies_per_s"] > 100
    # Little's law: the connections are busy all the time, waiting for replies.
    # httperf prints the time in steps of 100 us: it may be 50 us less.
    in_flight = seen["replies_per_s"] * (seen["response_time_us"] - 50) / 1e6
    assert in_flight < 4 * 1.5
    assert result.notes["most_concurrent_connections"] <= 4
    assert "content 3000.0" in (tmp_path / "httperf.txt").read_text()
    assert not [reason for reason in result.untrusted if "saturated" not in reason]


@pytest.mark.server
def test_httperf_at_a_rate(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(wire, tmp_path, Httperf, connections=60, rate_per_s=100)
    assert 0 < values(result)["replies_per_s"] < 110
    assert result.notes["replies"] == 60


@pytest.mark.server
@pytest.mark.parametrize("keep_alive", [False, True])
def test_ab(wire: Cable, tmp_path: Path, keep_alive: bool) -> None:
    # The wire that carries the requests is the limit, neither ab nor nginx.
    wire.shape("middle", "tbf", "rate", "2mbit", "burst", "2kb", "limit", "400kb")
    result = measure_in_peace(
        wire, tmp_path, Ab, requests=1000, concurrency=8, object_bytes=3000, keep_alive=keep_alive
    )
    seen = values(result)
    assert list(seen) == [metric.name for metric in Ab.metrics({})]
    assert seen["errors"] == 0
    assert seen["requests_per_s"] * seen["request_time_us"] / 1e6 == pytest.approx(8, rel=0.01)
    ordered = [seen[f"request_time_{name}_us"] for name in ("median", "p95", "p99", "max")]
    assert ordered == sorted(ordered)
    request_bytes = 100 if keep_alive else 100 + 2 * 66  # with SYN and FIN or ACK
    assert 50 < seen["requests_per_s"] < 2e6 / 8 / request_bytes
    assert result.notes["kept_connections"] == (1000 if keep_alive else 0)
    # ab sleeps nearly all the time; less than a tick of its CPU time, 10 ms, is none.
    assert 0 <= result.notes["client_cpu_ratio"] < 0.5
    assert not processes_in(wire.spaces["server"])


@pytest.mark.server
def test_ab_asks_where_a_load_balancer_listens(wire: Cable, tmp_path: Path) -> None:
    """The middle sends port 80 to two ports of the server, in turn: nginx answers at both."""
    rules = b"""table ip lb {
        chain pre {
            type nat hook prerouting priority dstnat
            tcp dport 80 counter dnat to 198.18.1.2:numgen inc mod 2 map { 0 : 8081, 1 : 8082 }
        }
    }"""
    middle = wire.deployment.hops[0].host
    middle.run(["nft", "-f", "-"], timeout_s=5, stdin=rules)
    result = measure_in_peace(
        wire, tmp_path, Ab, requests=4000, concurrency=4, port=80, server_ports=[8081, 8082]
    )
    assert values(result)["errors"] == 0
    listed = middle.run(["nft", "list", "ruleset"], timeout_s=5).text
    # A connection each; ab may open one more than it needs.
    assert int(listed.split("counter packets ")[1].split()[0]) >= 4004
    assert (tmp_path / "nginx.conf").read_text().count("listen 198.18.1.2:808") == 2


@pytest.mark.server
def test_ab_through_a_cut_chain_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    wire.cut()
    with pytest.raises(MeasurementError, match=r"ab failed: .*timeout specified has expired"):
        measure(wire, tmp_path, Ab, requests=100, timeout_s=1)


@pytest.mark.server
def test_ab_that_nobody_answers_fails_the_trial(wire: Cable, tmp_path: Path) -> None:
    """Nginx is at another port than the one that is asked."""
    with pytest.raises(MeasurementError, match="no good reply to 100 requests"):
        measure(wire, tmp_path, Ab, requests=100, port=8080, server_ports=[8081])


@pytest.mark.server
def test_ab_that_takes_too_long_is_stopped(wire: Cable, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="did not end within 1 s and was stopped"):
        measure(wire, tmp_path, Ab, requests=10_000_000, max_duration_s=1)
    for space in wire.spaces.values():
        assert not processes_in(space)


@pytest.mark.server
def test_a_saturated_ab_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """Nothing but a wire, and connections that stay open: the ends are all that limits."""
    result = measure(wire, tmp_path, Ab, requests=60_000, concurrency=32, keep_alive=True)
    busiest = max(result.notes["client_cpu_ratio"], result.notes["server_cpu_ratio"])
    assert any("saturated" in reason for reason in result.untrusted) is (busiest >= 0.95)
    assert 0 < result.notes["client_cpu_ratio"] <= 1.1


def _number_in(pid_file: Path) -> int:
    """nginx serves before it has written its number."""
    deadline = time.monotonic() + 10
    while not (text := pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return int(text)


@pytest.mark.server
def test_nginx_touches_nothing_of_the_system(wire: Cable, tmp_path: Path) -> None:
    """Only its own folder is open for writing, and it serves from nowhere else."""
    probe = made(Httperf, calls_per_connection=1)
    try:
        probe.prepare(wire.deployment, tmp_path)
        workdir = wire.deployment.server.host.workdir
        pid = _number_in(workdir / "nginx-8080" / "nginx.pid")
        opened = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
        files = {file for file in opened if file.startswith("/") and file != "/dev/null"}
        assert all(file.startswith((str(workdir), str(tmp_path))) for file in files)
        client = wire.deployment.client.host
        paths = ["/../../etc/passwd", "/nginx.conf", "/"]
        for path in paths:
            argv = ["httperf", "--server", SERVER, "--port", "8080", "--uri", path]
            assert "2xx=0" in client.run([*argv, "--timeout", "5"], timeout_s=10).text
    finally:
        probe.cleanup()
    assert ended(pid)


@pytest.mark.server
def test_a_large_object_is_nowhere_but_at_the_server(
    wire: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, raw = tmp_path / "temporary", tmp_path / "raw"
    temporary.mkdir()
    raw.mkdir()
    copies: list[Path] = []
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(
        wire.deployment.server.host, "put", _noting(wire.deployment.server.host.put, copies)
    )
    size = 100_000_000
    measure(wire, raw, Httperf, connections=1, calls_per_connection=1, object_bytes=size)
    assert f"content {size}.0" in (raw / "httperf.txt").read_text()
    # What a kill at any moment could have left is the configuration among the trial's files.
    assert copies == [raw / "nginx.conf"]
    assert list(temporary.iterdir()) == []
    assert sum(path.stat().st_size for path in raw.iterdir()) < 100_000


def _noting(put: Callable[[Path, Path], None], copies: list[Path]) -> Callable[[Path, Path], None]:
    def noting(local: Path, remote: Path) -> None:
        copies.append(local)
        put(local, remote)

    return noting


# The chain is the limit: the numbers stand


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


def test_a_chain_that_ends_carrying_udp_in_mid_test_is_untrusted(
    wire: Cable, tmp_path: Path
) -> None:
    """No later datagram tells the receiver that some are missing."""
    probe = made(Iperf3, protocol="udp", rate_bps=4_000_000, payload_bytes=1000, duration_s=2)
    probe.prepare(wire.deployment, tmp_path)
    timer = threading.Timer(1, wire.drop_udp)
    timer.start()
    try:
        result = probe.measure(wire.deployment, tmp_path)
    finally:
        timer.join()
        probe.cleanup()
    assert result.notes["datagrams_unseen"] > 100
    assert any("came after the last one received" in reason for reason in result.untrusted)


def test_udp_at_maximum_finds_the_chains_rate(wire: Cable, tmp_path: Path) -> None:
    wire.shape("middle", *SHAPED)
    result = measure_in_peace(wire, tmp_path, Iperf3, protocol="udp", duration_s=1)
    assert 0 < values(result)["rate_bps"] < 5.5e6
    assert values(result)["loss_ratio"] > 0.5


@pytest.mark.server
def test_http_timeouts_are_errors_not_doubts_of_the_sender(wire: Cable, tmp_path: Path) -> None:
    wire.shape("middle", "tbf", "rate", "100kbit", "burst", "3kb", "limit", "3kb")
    result = measure(wire, tmp_path, Httperf, connections=200, rate_per_s=200, timeout_s=0.5)
    assert values(result)["errors"] > 0
    assert not [reason for reason in result.untrusted if "asked for" in reason]


# The sender is the limit: the trial says so


def test_udp_lost_by_the_sender_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    wire.shape("client", *SHAPED)
    result = measure(
        wire, tmp_path, Iperf3, protocol="udp", rate_bps=20_000_000, duration_s=1, streams=2
    )
    assert any("the sender itself lost" in reason for reason in result.untrusted)
    assert result.notes["sender_lost_datagrams"] > 100


def test_udp_lost_by_the_sender_at_maximum_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    wire.shape("client", *SHAPED)
    result = measure(wire, tmp_path, Iperf3, protocol="udp", duration_s=1)
    assert any("the sender itself lost" in reason for reason in result.untrusted)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_rate_beyond_the_sender_is_untrusted(wire: Cable, tmp_path: Path, protocol: str) -> None:
    given = {"protocol": protocol, "rate_bps": 20_000_000, "socket_buffer_bytes": 65_536}
    # A long queue: the sender is held back by its socket's buffer and loses nothing.
    wire.shape("client", "tbf", "rate", "5mbit", "burst", "10kb", "limit", "4mb")
    result = measure(wire, tmp_path, Iperf3, duration_s=1, **given)
    assert any("of the 20.000 Mbit/s asked for" in reason for reason in result.untrusted)


def test_refused_sends_make_ping_untrusted(wire: Cable, tmp_path: Path) -> None:
    """The client's own queue holds three requests, and lets out ten per second."""
    wire.shape("client", "tbf", "rate", "8kbit", "burst", "300", "limit", "300")
    result = measure(wire, tmp_path, Ping, count=20, interval_s=0.005, timeout_s=0.2)
    assert any("the sender" in reason for reason in result.untrusted)


def test_a_ping_that_was_held_up_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """It is stopped for less than its timeout, and every reply comes: only the time tells."""
    probe = made(Ping, count=10, interval_s=0.05, timeout_s=2)
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


@pytest.mark.server
def test_a_closed_loop_that_timed_out_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """Its duration includes the time in which nobody sent anything."""
    probe = made(Httperf, connections=4, calls_per_connection=1_000_000, timeout_s=0.5)
    probe.prepare(wire.deployment, tmp_path)
    timer = threading.Timer(0.5, wire.cut)
    timer.start()
    try:
        result = probe.measure(wire.deployment, tmp_path)
    finally:
        timer.join()
        probe.cleanup()
    assert values(result)["replies_per_s"] > 0
    assert result.notes["timeouts"] == 4
    assert any("4 connections timed out and 0 were reset" in why for why in result.untrusted)


@pytest.mark.server
def test_httperf_without_descriptors_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """More connections at once than httperf has file descriptors (FD_SETSIZE, 1024)."""
    wire.shape("middle", "tbf", "rate", "100kbit", "burst", "5kb", "limit", "10kb")
    result = measure(wire, tmp_path, Httperf, connections=1500, rate_per_s=3000, timeout_s=2)
    assert any("no file descriptor" in reason for reason in result.untrusted)


# Failures


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (Ping, {"count": 2, "timeout_s": 0.1}, "no reply to any of 2"),
        (Iperf3, {"duration_s": 1}, "unable to connect"),
    ],
)
def test_a_cut_chain_fails_the_trial(
    wire: Cable, tmp_path: Path, kind: type[Probe], given: dict[str, Any], message: str
) -> None:
    wire.cut()
    with pytest.raises(MeasurementError, match=message):
        measure(wire, tmp_path, kind, **given)
    assert not [line for line in listeners(wire.deployment.server.host).splitlines() if line]


def test_a_chain_cut_in_mid_test_ends_in_bounded_time(wire: Cable, tmp_path: Path) -> None:
    """The tool hangs; it is stopped."""
    probe = made(Httperf, calls_per_connection=1_000_000, timeout_s=60, max_duration_s=2)
    probe.prepare(wire.deployment, tmp_path)
    timer = threading.Timer(0.5, wire.cut)
    timer.start()
    try:
        with pytest.raises(MeasurementError, match="did not end within 2 s and was stopped"):
            probe.measure(wire.deployment, tmp_path)
    finally:
        timer.join()
        probe.cleanup()
    for space in wire.spaces.values():
        assert not processes_in(space)


@pytest.mark.parametrize(
    ("kind", "given", "header_bytes"),
    [(Ping, {}, 8), (Iperf3, {"protocol": "udp", "duration_s": 1, "rate_bps": 1_000_000}, 8)],
)
def test_payloads_up_to_the_mtu(
    wire: Cable, tmp_path: Path, kind: type[Probe], given: dict[str, Any], header_bytes: int
) -> None:
    largest = 1500 - 20 - header_bytes
    measure_in_peace(wire, tmp_path, kind, payload_bytes=largest, **given)
    with pytest.raises(MeasurementError, match=f"up to {largest}"):
        measure(wire, tmp_path, kind, payload_bytes=largest + 1, **given)


@pytest.mark.server
@pytest.mark.parametrize("kind", [Iperf3, Httperf, Ab])
def test_a_taken_port_is_told(wire: Cable, tmp_path: Path, kind: type[Probe]) -> None:
    port = kind.parameters["properties"]["port"]["default"]
    squatter = wire.deployment.server.host.spawn(["iperf3", "-s", "-4", "-p", str(port)])
    try:
        while f":{port}" not in listeners(wire.deployment.server.host):
            assert squatter.poll() is None
        with pytest.raises(MeasurementError, match=f"port {port} is taken"):
            measure(wire, tmp_path, kind)
    finally:
        squatter.stop()


@pytest.mark.server
@pytest.mark.parametrize("kind", [Iperf3, Httperf, Ab])
def test_a_server_that_cannot_serve_is_told(wire: Cable, tmp_path: Path, kind: type[Probe]) -> None:
    elsewhere = replace(wire.deployment.server, address="203.0.113.1")
    probe = made(kind)
    with pytest.raises(MeasurementError, match="instead of serving"):
        probe.prepare(replace(wire.deployment, server=elsewhere), tmp_path)
    probe.cleanup()
    assert not processes_in(wire.spaces["server"])


def test_a_congestion_control_that_is_not_there(wire: Cable, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="iperf3 failed"):
        measure(wire, tmp_path, Iperf3, duration_s=1, congestion="nosuch")


def test_a_retried_trial_starts_with_clean_files(wire: Cable, tmp_path: Path) -> None:
    for _ in range(2):
        measure(wire, tmp_path, Ping, count=2, interval_s=0.01)
    assert (tmp_path / "ping.txt").read_text().count("packets transmitted") == 1


@pytest.mark.server
def test_probes_on_two_cables_at_once(tmp_path: Path) -> None:
    """Same ports, same addresses: only the namespaces tell them apart."""
    kinds: list[tuple[type[Probe], dict[str, Any]]] = [
        (Ping, {"count": 10, "interval_s": 0.05}),
        (Iperf3, {"protocol": "udp", "rate_bps": 2_000_000, "duration_s": 1}),
        (Httperf, {"connections": 50, "rate_per_s": 100}),
    ]
    results: dict[int, list[ProbeResult]] = {0: [], 1: []}

    def work(number: int, wire: Cable) -> None:
        raw = tmp_path / str(number)
        raw.mkdir()
        for kind, given in kinds:
            results[number].append(measure_in_peace(wire, raw, kind, **given))

    with cable() as one, cable() as two:
        threads = [
            threading.Thread(target=work, args=(number, wire))
            for number, wire in enumerate((one, two))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for number in results:
        ping, iperf3, httperf = (values(result) for result in results[number])
        assert ping["loss_ratio"] == 0
        assert iperf3["rate_bps"] == pytest.approx(2e6, rel=0.1)
        assert httperf["errors"] == 0
