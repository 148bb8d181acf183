"""HTTP probes over a real cable: httperf, ab, and the nginx that they ask."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.network.cable import SERVER, Cable, ended, processes_in
from support.probing import made, measure, measure_in_peace, measure_until, reasons, values

from sfcperf import retry
from sfcperf.active.ab import Ab
from sfcperf.active.httperf import Httperf
from sfcperf.errors import MeasurementError

pytestmark = pytest.mark.root


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
def test_httperf_at_a_rate(wire: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder in whose name nginx would look for a variable."""
    host = wire.deployment.server.host
    monkeypatch.setattr(host, "workdir", host.workdir / "it's $x; 100 %h {}")
    result = measure_in_peace(wire, tmp_path, Httperf, connections=60, rate_per_s=100)
    assert 0 < values(result)["replies_per_s"] < 110
    assert (result.notes["replies"], values(result)["errors"]) == (60, 0)


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
        wire, tmp_path, Ab, requests=1000, concurrency=4, port=80, server_ports=[8081, 8082]
    )
    assert values(result)["errors"] == 0
    listed = middle.run(["nft", "list", "ruleset"], timeout_s=5).text
    # A connection each; ab may open one more than it needs.
    assert int(listed.split("counter packets ")[1].split()[0]) >= 1004
    assert (tmp_path / "nginx.conf").read_text().count("listen 198.18.1.2:808") == 2


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
    result = measure(wire, tmp_path, Ab, requests=20_000, concurrency=32, keep_alive=True)
    busiest = max(result.notes["client_cpu_ratio"], result.notes["server_cpu_ratio"])
    assert any("saturated" in reason for reason in result.untrusted) is (busiest >= 0.95)
    assert 0 < result.notes["client_cpu_ratio"] <= 1.1


def _number_in(pid_file: Path) -> int:
    """nginx serves before it has written its number."""
    return int(retry.until(pid_file.read_text, timeout_s=10, period_s=0.01))


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


@pytest.mark.exhaustive
@pytest.mark.server
def test_http_timeouts_are_errors_not_doubts_of_the_sender(wire: Cable, tmp_path: Path) -> None:
    wire.shape("middle", "tbf", "rate", "100kbit", "burst", "3kb", "limit", "3kb")
    result = measure(wire, tmp_path, Httperf, connections=200, rate_per_s=200, timeout_s=0.5)
    assert values(result)["errors"] > 0
    assert not [reason for reason in result.untrusted if "requested" in reason]


@pytest.mark.server
def test_a_closed_loop_that_timed_out_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """Its duration includes the time in which nobody sent anything."""
    probe = made(Httperf, connections=4, calls_per_connection=1_000_000, timeout_s=0.5)
    result = measure_until(wire, tmp_path, probe, 1000, wire.cut)
    assert values(result)["replies_per_s"] > 0
    assert result.notes["timeouts"] == 4
    assert any("(timeout 4)" in why for why in reasons(result))


@pytest.mark.exhaustive
@pytest.mark.server
def test_httperf_without_descriptors_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    """More connections at once than httperf has file descriptors (FD_SETSIZE, 1024)."""
    wire.shape("middle", "tbf", "rate", "100kbit", "burst", "5kb", "limit", "10kb")
    result = measure(wire, tmp_path, Httperf, connections=1500, rate_per_s=3000, timeout_s=2)
    assert any("no file descriptor" in reason for reason in result.untrusted)
