"""The probe `sfcmon_simulation`: traces in, metrics out."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import pytest
from support.command import SFCPERF
from support.probing import made, values
from support.sfcmon import traces
from support.sfcmon.traces import Row

from sfcperf import waiting
from sfcperf.active.base import ProbeResult
from sfcperf.active.sfcmon_simulation import SfcmonSimulation
from sfcperf.dataplane import binaries
from sfcperf.errors import InputError, MeasurementError, SfcperfError
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.sfcmon import simulation
from sfcperf.vnfs.sfcmon.settings import Thresholds
from sfcperf.vnfs.sfcmon.simulation import TOOL, Simulation, simulate
from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace

pytestmark = pytest.mark.skipif(
    not binaries.requirement(TOOL).met, reason=binaries.requirement(TOOL).detail
)
MS = 1_000_000
UDP = bytes(12) + bytes.fromhex("08004500002e0000000040110000") + bytes(34)
NO_CHAIN = cast(Deployment, None)
"""It is not looked at."""


def measure(folder: Path, number: int = 1, **given: Any) -> ProbeResult:
    probe = made(SfcmonSimulation, **given)
    probe.check(probe.parameters)
    probe.round = number
    probe.prepare(NO_CHAIN, folder)
    return probe.measure(NO_CHAIN, folder)


def rows(count: int, heavy_every: int, step_ns: int = MS) -> list[Row]:
    """One source sends a share of the packets; the others send little and often."""
    sources = (f"10.0.{n % 7}.{n % 211}" if n % heavy_every else "10.0.0.1" for n in range(count))
    return [Row(n * step_ns, source, "10.9.9.9") for n, source in enumerate(sources)]


def test_metrics_are_means_over_whole_windows(tmp_path: Path) -> None:
    """3.5 windows of a second, the last of which does not count: brute force says the same."""
    sent = rows(1500, 9) + [Row((1500 + n) * MS, "10.0.0.1", "10.9.9.9") for n in range(2000)]
    path = traces.write_csv(tmp_path / "t.csv", sent)
    asked = {"window_s": 1, "threshold": 0.01, "threshold_eval": 50}
    result = measure(tmp_path, trace=str(path), **asked)
    assert (result.notes["windows"], result.notes["windows_left_out"]) == (3, 1)
    assert result.notes["packets"] == 3000
    lines = [json.loads(line) for line in (tmp_path / "windows.jsonl").read_text().splitlines()]
    assert [line["packets"] for line in lines] == [1000, 1000, 1000, 500]
    # What was reported, by the verb; what is true, by dictionaries.
    words = ["--window-s", "1", "--threshold", "0.01", "--threshold-eval", "50", "--json"]
    argv = [SFCPERF, "sfcmon", "simulate", str(path), *words]
    told = json.loads(subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout)
    scores = [
        traces.brute_force(sent[n * 1000 : (n + 1) * 1000], window["heavy_hitters"], 0.01)
        for n, window in enumerate(told["windows"][:3])
    ]
    for name, value in values(result).items():
        each = [number for score in scores if (number := score.metrics()[name]) is not None]
        assert list(result.series[name]) == each
        assert value == pytest.approx(fmean(each))
    assert result.untrusted == ()
    assert "10.0" not in (tmp_path / "windows.jsonl").read_text()


def test_each_round_has_its_chunk(tmp_path: Path) -> None:
    for name, every in (("b", 5), ("a", 50)):
        traces.write_csv(tmp_path / f"{name}.csv", rows(2000, every))
    pattern = f"{tmp_path}/*.csv"
    notes = [measure(tmp_path, number, trace=pattern, window_s=1).notes for number in (1, 2)]
    assert [Path(note["trace"]).name for note in notes] == ["a.csv", "b.csv"]
    sums = [hashlib.sha256(Path(note["trace"]).read_bytes()).hexdigest() for note in notes]
    assert [note["sha256"] for note in notes] == sums


def test_a_synthetic_chunk_is_the_generated_file(tmp_path: Path) -> None:
    path = tmp_path / "t.pcap"
    path.write_bytes(b"".join(SyntheticTrace(4, 0.5).pcap()))
    packed = tmp_path / "t.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    results = [
        measure(tmp_path, 2, seed=3, duration_s=0.5, window_s=0.1),
        measure(tmp_path, 1, trace=str(path), window_s=0.1),
        measure(tmp_path, 1, trace=str(packed), window_s=0.1),
    ]
    assert results[0].notes["windows"] == 5
    assert results[0].samples == results[1].samples == results[2].samples
    assert values(results[0])["recall"] == 1
    assert values(results[0])["precision"] < 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing", None, "there is no such trace"),
        ("packets", traces.pcap([]), "the trace has no packets"),
        ("arp", traces.pcap([(0, bytes(60)), (MS, bytes(60))]), "no packet of the trace can be"),
        ("t.gz", b"not compressed", "cannot be decompressed"),
        ("short.gz", gzip.compress(traces.pcap([(0, bytes(60))]))[:-9], "cannot be decompressed"),
        ("t.pcap", traces.pcap([(n * MS, UDP) for n in range(99)]) + b"\xff" * 16, "at byte 7548"),
    ],
    # gzip writes the time: names made of contents would differ between processes.
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_is_no_chunk(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SfcperfError) as caught:
        measure(tmp_path, trace=str(path), window_s=0.001)
    assert message in str(caught.value)


def test_a_chunk_that_is_shorter_than_the_window(tmp_path: Path) -> None:
    path = traces.write_csv(tmp_path / "t.csv", rows(1500, 9))
    with pytest.raises(MeasurementError) as caught:
        measure(tmp_path, trace=str(path), window_s=2)
    assert caught.value.message == "the trace is 1.499 s long, its windows are 2 s"
    with pytest.raises(InputError, match=r"no window of 61 s fits into a trace of 60 s"):
        measure(tmp_path, window_s=61)
    with pytest.raises(InputError, match=r"'t\.csv' is a relative path"):
        measure(tmp_path, trace="t.csv")


def test_what_is_doubtful(tmp_path: Path) -> None:
    late = [Row(row.ts_ns + 3000 * MS, row.src_ip, row.dst_ip) for row in rows(1000, 9)]
    path = traces.write_csv(tmp_path / "t.csv", rows(1000, 9) + late)
    result = measure(tmp_path, trace=str(path), window_s=1)
    assert result.untrusted == ("2 of 4 windows have no packets",)
    path = tmp_path / "t.pcap"
    path.write_bytes(b"".join(SyntheticTrace(1, 0.2).pcap())[:-10])
    result = measure(tmp_path, trace=str(path), window_s=0.1)
    assert result.untrusted == ("the trace ends within a packet: the rest of it is missing",)
    path.write_bytes(traces.pcap((n * MS, UDP[: 36 if n % 2 else 60]) for n in range(100)))
    result = measure(tmp_path, trace=str(path), window_s=0.05)
    assert result.notes["packets_left_out"] == {"headers": 50}
    (doubt,) = result.untrusted
    assert "50 of 100 frames" in doubt


def test_an_error_of_what_feeds_the_simulator_is_no_end_of_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> Iterator[bytes]:
        yield traces.pcap([(0, UDP)])
        raise RuntimeError(path.name)

    monkeypatch.setattr(simulation, "_parts", broken)
    with pytest.raises(RuntimeError):
        list(simulate(tmp_path / "t.gz", Simulation(1, 0.1, Thresholds())))


def test_a_cancelled_wait_ends_the_simulator(tmp_path: Path) -> None:
    """The trace is a pipe that never ends."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    stop = waiting.Cancellation(lambda: KeyboardInterrupt())
    keep = os.open(path, os.O_RDWR)
    before = children()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt), waiting.cancelled_by(stop):
            list(simulate(path, Simulation(1, 0.1, Thresholds())))
    finally:
        timer.join()
        os.close(keep)
    assert children() == before


def children() -> set[str]:
    threads = Path("/proc/self/task").glob("*/children")
    return {pid for thread in threads for pid in thread.read_text().split()}


@pytest.mark.root
def test_the_workflow_on_own_traces(tmp_path: Path) -> None:
    """Of three files the rounds take one each; the figure has the four lines of the paper's."""
    for number in (3, 1, 2):
        path = tmp_path / f"minute-{number}.pcap"
        path.write_bytes(b"".join(SyntheticTrace(number, 0.6).pcap()))
    changes = ("preset=short", f"probes.0.trace={tmp_path}/*.pcap", "factors.window_s=[0.2]")
    argv = [SFCPERF, "run", "sfcmon-fig3", "--results", str(tmp_path / "results"), "--quiet"]
    for change in changes:
        argv += ["--set", change]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 3
    for trial in trials:
        path = tmp_path / f"minute-{trial['round']}.pcap"
        assert trial["status"] == "valid"
        assert trial["notes"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        asked = {"trace": str(path), "window_s": trial["scenario"]["window_s"]}
        again = measure(tmp_path, cms_columns=5436, **asked)
        assert {s["metric"]: s["value"] for s in trial["samples"]} == values(again)
    drawn = (folder / "figures" / "fig3.csv").read_text()
    assert all(f"\n{name}," in drawn for name in ("Accuracy", "Precision", "Recall", "FPR"))
