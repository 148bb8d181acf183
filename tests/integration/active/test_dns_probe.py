"""The DNS probe over a real cable; tcpdump and tshark say what crossed it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import SERVER, Cable, processes_in
from support.network.wires import eventually
from support.probing import made, measure, measure_in_peace, measure_until, reasons, values

from sfcperf.active.dns import Dns
from sfcperf.active.dns.probe import ZONE
from sfcperf.errors import MeasurementError

pytestmark = pytest.mark.root
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
DROP = """table ip own {
    counter lost { }
    chain forward {
        type filter hook forward priority 0
        udp dport 53 numgen inc mod 10 == 3 counter name lost drop
    }
}
"""
DIVERT = f"""table ip own {{
    chain prerouting {{
        type nat hook prerouting priority dstnat
        udp dport 53 numgen inc mod 4 == 1 dnat to {SERVER}:5300
    }}
}}
"""


@contextmanager
def captured(wire: Cable, file: Path) -> Iterator[Path]:
    """A capture between the middle and the server."""
    host, said = wire.deployment.hops[0].host, file.with_suffix(".said")
    argv = ["tcpdump", "-i", "server0", "-n", "-B", "8192", "--immediate-mode", "-U"]
    tcpdump = host.spawn([*argv, "-w", str(file), "udp"], stderr=said)
    try:
        assert eventually(lambda: "listening" in said.read_text(), 10)
        yield file
        # Once the last packet is written, so are those before it.
        last = ["socat", "-u", "STDIN", f"UDP:{SERVER}:9"]
        wire.deployment.client.host.run(last, timeout_s=5, stdin=b"the last packet")
        assert eventually(lambda: b"the last packet" in file.read_bytes(), 10)
    finally:
        tcpdump.stop()


def dissected(capture: Path, *fields: str) -> list[list[str]]:
    """These fields of every DNS message, by tshark. Its first field is `1` for an answer."""
    argv = ["tshark", "-r", str(capture), "-Y", "dns", "-T", "fields", "-e", "dns.flags.response"]
    argv += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    return [line.split("\t") for line in done.stdout.splitlines()]


def set_up(wire: Cable, rules: str) -> None:
    middle = wire.deployment.hops[0].host
    middle.run(["nft", "-f", "-"], timeout_s=5, stdin=rules.encode())


@needs_tshark
def test_at_a_rate(wire: Cable, tmp_path: Path) -> None:
    with captured(wire, tmp_path / "all.pcap") as capture:
        asked = {"rate_per_s": 400, "duration_s": 1, "names": 50, "types": ["A", "AAAA"]}
        result = measure(wire, tmp_path, Dns, flows=5, **asked)
    seen = values(result)
    assert list(seen) == [metric.name for metric in Dns.metrics({"rate_per_s": 400})]
    messages = dissected(capture, "dns.qry.name", "dns.qry.type", "udp.srcport", "dns.resp.ttl")
    queries = [m for m in messages if m[0] == "0" and not m[1].startswith("warmup")]
    answers = [m for m in messages if m[0] == "1" and not m[1].startswith("warmup")]
    assert result.notes["queries"] == len(queries)
    assert result.notes["answers"] == len(answers)
    assert (seen["loss_ratio"], seen["errors"]) == (0, 0)
    assert {m[1] for m in queries} == {f"n{number}.{ZONE}" for number in range(50)}
    kinds = Counter(m[2] for m in queries)
    assert set(kinds) == {"1", "28"} and abs(kinds["1"] - kinds["28"]) <= 1
    assert len({m[3] for m in queries}) == 5
    assert {m[4] for m in answers} == {"300"}
    assert seen["queries_per_s"] == pytest.approx(len(answers) / result.notes["duration_s"])
    times = result.series["response_time_us"]
    assert len(times) == len(answers)
    order = ["min_us", "median_us", "p95_us", "p99_us", "max_us"]
    assert [seen[f"response_time_{name}"] for name in order] == sorted(
        seen[f"response_time_{name}"] for name in order
    )
    # tshark's times are those between the middle and the server: shorter.
    inner = [float(time) for is_answer, time in dissected(capture, "dns.time") if is_answer == "1"]
    assert seen["response_time_us"] > sum(inner) / len(inner) * 1e6
    assert not processes_in(wire.spaces["server"])


def test_at_a_rate_it_is_trusted(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(wire, tmp_path, Dns, rate_per_s=100, duration_s=0.5)
    assert result.notes["queries"] == pytest.approx(50, abs=1)


@needs_tshark
def test_at_maximum(wire: Cable, tmp_path: Path) -> None:
    """The wire is the limit."""
    wire.shape("middle", "tbf", "rate", "1mbit", "burst", "2kb", "limit", "100kb")
    with captured(wire, tmp_path / "all.pcap") as capture:
        result = measure_in_peace(
            wire, tmp_path, Dns, rate_per_s="maximum", duration_s=1, concurrency=8
        )
    seen = values(result)
    assert list(seen) == [metric.name for metric in Dns.metrics({"rate_per_s": "maximum"})]
    # Little's law: eight in flight all the time.
    assert seen["queries_per_s"] * seen["response_time_us"] / 1e6 == pytest.approx(8, rel=0.1)
    messages = [m for m in dissected(capture, "dns.qry.name") if not m[1].startswith("warmup")]
    assert result.notes["answers"] == sum(m[0] == "1" for m in messages)
    in_flight = most = 0
    for [is_answer, _] in messages:
        in_flight += 1 if is_answer == "0" else -1
        most = max(most, in_flight)
    assert most <= 8


def test_losses_of_the_chain(wire: Cable, tmp_path: Path) -> None:
    """A result at a rate; in a closed loop, they change the load."""
    set_up(wire, DROP)
    for rate in (200, "maximum"):
        middle = wire.deployment.hops[0].host
        middle.run(["nft", "reset", "counter", "ip", "own", "lost"], timeout_s=5)
        result = measure(wire, tmp_path, Dns, rate_per_s=rate, duration_s=0.5, timeout_s=0.1)
        listed = middle.run(["nft", "-j", "list", "counters"], timeout_s=5).text
        [dropped] = [
            each["counter"]["packets"]
            for each in json.loads(listed)["nftables"]
            if "counter" in each
        ]
        assert result.loss is not None
        # The query beforehand may be one of the dropped.
        assert dropped - result.loss.lost in (0, 1)
        assert values(result)["loss_ratio"] == pytest.approx(0.1, abs=0.02)
        assert result.loss.is_notable
        assert any("closed loop" in why for why in reasons(result)) is (rate == "maximum")


@needs_tshark
def test_error_codes_are_no_good_answers(wire: Cable, tmp_path: Path) -> None:
    """One flow of four is led to a server that refuses."""
    server = wire.deployment.server.host
    argv = ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--pid-file=", "--no-resolv"]
    refuser = server.spawn([*argv, "--no-hosts", "--port=5300"], stderr=tmp_path / "refuser")
    try:
        assert eventually(lambda: "started" in (tmp_path / "refuser").read_text(), 10)
        set_up(wire, DIVERT)
        with captured(wire, tmp_path / "all.pcap") as capture:
            result = measure(wire, tmp_path, Dns, rate_per_s=200, duration_s=0.5, flows=4)
    finally:
        refuser.stop()
    messages = dissected(capture, "dns.qry.name", "dns.flags.rcode")
    judged = Counter(code for answer, name, code in messages if answer == "1" and name[0] == "n")
    assert result.notes["response_codes"] == {"NOERROR": judged["0"], "REFUSED": judged["5"]}
    seen = values(result)
    assert (seen["errors"], seen["loss_ratio"]) == (judged["5"], 0)
    assert result.loss is not None and result.loss.lost == judged["5"] > 0
    assert seen["queries_per_s"] == pytest.approx(judged["0"] / result.notes["duration_s"])


def test_answers_that_come_late(wire: Cable, tmp_path: Path) -> None:
    wire.shape("middle", "tbf", "rate", "20kbit", "burst", "200", "limit", "20000")
    result = measure(wire, tmp_path, Dns, rate_per_s=50, duration_s=1, timeout_s=0.3)
    assert values(result)["loss_ratio"] > 0
    assert result.notes["unexpected_answers"] > 0
    assert values(result)["response_time_max_us"] < 0.3e6


@pytest.mark.parametrize("where", ["client", "client-refuses", "rate"])
def test_a_sender_that_does_not_send_as_asked_is_untrusted(
    wire: Cable, tmp_path: Path, where: str
) -> None:
    asked: dict[str, Any] = {"rate_per_s": 200, "duration_s": 0.5, "timeout_s": 0.1}
    if where == "client":
        wire.shape("client", "tbf", "rate", "50kbit", "burst", "200", "limit", "300")
    elif where == "client-refuses":
        rules = DROP.replace("hook forward", "hook output").encode()
        wire.deployment.client.host.run(["nft", "-f", "-"], timeout_s=5, stdin=rules)
    else:
        asked |= {"rate_per_s": 1_000_000, "timeout_s": 1}
    result = measure(wire, tmp_path, Dns, **asked)
    why = {"client": "itself lost", "client-refuses": "could not send", "rate": "queries/s of the"}
    assert any(why[where] in reason for reason in result.untrusted)


def test_without_one_good_answer_the_trial_fails(wire: Cable, tmp_path: Path) -> None:
    wire.drop_udp()
    with pytest.raises(MeasurementError, match=r"no good answer to \d+ queries"):
        measure(wire, tmp_path, Dns, rate_per_s=100, duration_s=0.2, timeout_s=0.1)
    for space in wire.spaces.values():
        assert not processes_in(space)


def test_a_server_that_dies_is_told(wire: Cable, tmp_path: Path) -> None:
    probe = made(Dns, rate_per_s=100, duration_s=1, timeout_s=0.1)
    with pytest.raises(MeasurementError, match="dnsmasq does not run"):
        measure_until(wire, tmp_path, probe, 10, lambda: probe._server and probe._server.stop())
