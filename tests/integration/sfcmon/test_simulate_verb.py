"""`sfcperf sfcmon simulate` as a user runs it."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.command import SFCPERF
from support.sfcmon import traces
from support.sfcmon.traces import Row

from sfcperf.dataplane import binaries
from sfcperf.vnfs.sfcmon.simulation import TOOL

pytestmark = pytest.mark.skipif(
    not binaries.requirement(TOOL).met, reason=binaries.requirement(TOOL).detail
)
ROWS = [
    Row(n * 1000, "10.0.0.1" if n % 10 < 3 else f"10.0.1.{n % 200}", "10.9.9.9")
    for n in range(4000)
]


def run(*words: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    argv = [SFCPERF, "sfcmon", "simulate", *map(str, words)]
    done = subprocess.run(argv, input=stdin, capture_output=True, timeout=60)
    return subprocess.CompletedProcess(
        argv, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traces.write_csv(tmp_path_factory.mktemp("t") / "trace.csv", ROWS)


def test_json(trace: Path) -> None:
    words = ("--window-s", 0.002, "--threshold", 0.2, "--json")
    done = run(trace, *words)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["heavy_hitters"] == ["10.0.0.1"]
    assert document["metrics"] == {"accuracy": 1, "precision": 1, "recall": 1, "fpr": 0}
    assert document["frames"] == 4000
    assert [window["packets"] for window in document["windows"]] == [2000, 2000]
    for window in document["windows"]:
        assert window["end_ns"] - window["begin_ns"] == 2_000_000
        assert window["heavy_hitters"] == ["10.0.0.1"]
        (flow,) = window["flows"]
        # Packets before Threshold_Eval are not in the IBLT.
        assert (flow["src_ip"], flow["packets"], flow["certainty"]) == ("10.0.0.1", 300, "exact")
        assert window["listing"]["complete"]
    piped = json.loads(run("-", *words, stdin=trace.read_bytes()).stdout)
    assert piped["windows"] == document["windows"]


def test_text(trace: Path) -> None:
    done = run(trace, "--window-s", 0.002, "--threshold", 0.2)
    assert done.returncode == 0
    heads, *rows = done.stdout.splitlines()
    assert heads.split()[:4] == ["window", "packets", "sources", "reported"]
    assert rows[0].split()[:4] == ["0", "2000", "141", "1"]
    assert "heavy_hitters of window 1: 1 source reported" in done.stdout
    assert "10.0.0.1" in rows[-1]


def test_a_trace_without_packets(tmp_path: Path) -> None:
    path = traces.write_csv(tmp_path / "t.csv", [])
    assert run(path, "--window-s", 1).returncode == 0
    document = json.loads(run(path, "--window-s", 1, "--json").stdout)
    assert (document["windows"], document["frames"]) == ([], 0)


def test_damage_after_good_packets_is_an_error(trace: Path) -> None:
    """In any format: no result is called complete."""
    lines = trace.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(lines[2].split(b",")[0], b"nan")
    frames = [(n * 1000, bytes(60)) for n in range(4000)]
    # More than is decompressed at a time: the simulator has read all packets when it fails.
    packed = gzip.compress(traces.pcap(frames * 6), 1)
    for name, content, options, message in (
        ("t.csv", b"".join(lines), (), "line 3: ts_ns is 'nan'"),
        ("t.pcap", traces.pcap(frames) + b"\xff" * 16, ("--json",), f"at byte {24 + 4000 * 76}"),
        ("t.pcapng", traces.pcapng(frames) + b"\xff" * 16, (), "a block of an impossible length"),
        ("t.csv.gz", packed[:-9], ("--json",), "cannot be decompressed"),
        ("t.gz", packed + b"more", (), "cannot be decompressed"),
    ):
        path = trace.with_name(name)
        path.write_bytes(content)
        done = run(path, "--window-s", 0.002, *options)
        assert (done.returncode, message in done.stderr) == (2, True), (name, done.stderr)
        assert '"left_out"' not in done.stdout
        assert "Traceback" not in done.stderr


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    """That the trace is truncated as well, which is a warning."""
    good = bytes(Ether() / IP(src="10.0.0.1") / UDP())
    bad = bytes(Ether() / IP(src="10.0.0.1", len=0) / UDP())
    path = tmp_path / "t.pcap"
    path.write_bytes(traces.pcap((n, bad if n % 3 else good) for n in range(31))[:-10])
    text = run(path, "--window-s", 1)
    assert text.returncode == 0
    assert "20 of 30 frames left out: IPv4 length 0" in text.stdout
    assert "warning: the trace ends within a packet" in text.stderr
    document = json.loads(run(path, "--window-s", 1, "--json").stdout)
    assert document["left_out"] == {"ipv4_length_0": 20}


def test_bad_input_is_one_message(tmp_path: Path) -> None:
    done = run(tmp_path / "t.csv", "--window-s", 1)
    assert (done.returncode, "No such file or directory" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


def test_without_the_compiled_simulator(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(binaries.OVERRIDE, str(tmp_path))
    done = run(trace, "--window-s", 1)
    assert done.returncode == 3
    assert f"{TOOL} is missing" in done.stderr
