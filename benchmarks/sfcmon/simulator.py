"""Speed and memory of the SFCMon simulator, and the time to list an IBLT.

Speed is that of the sketches alone (5 rows, Bloom filter, IBLT), in CPU time, on parsed packets of
a heavy-tailed trace; the best of the repetitions counts. It is compared with a plain Python loop
over the same parsed packets, with mmh3, which gives the same IBLT.

.venv/bin/python benchmarks/sfcmon/simulator.py [PART ...] [--millions N]
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mmh3
import numpy as np

from sfcperf.sketches.iblt import Iblt
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.sfcmon.parquet import MAGIC, RECORD
from sfcperf.vnfs.sfcmon.report import Window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds
from sfcperf.vnfs.sfcmon.simulation import Simulation, TraceEnd, simulate
from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run

PACKETS = 1_000_000
LIMITS = Thresholds()
SIMULATION = Simulation(60, 0.001, LIMITS)
PATH = b"\0\0\1\xff"


def speed(run: Run) -> Iterator[Row]:
    """Sketches in C beside those in Python; then what else the simulator does."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "trace"
        records = _records()
        path.write_bytes(MAGIC + records.tobytes())
        packets = _parsed(records)
        loops, ends = [], []
        for _ in range(run.repetitions):
            seconds, loop = _loop_s(packets)
            loops.append(seconds)
            ends.append(_simulated(path, loop))
    best = min(ends, key=lambda end: end.sketch_s)
    unit, mpps = "Mpps", PACKETS / best.sketch_s / 1e6
    yield Row("simulator, sketches", mpps, unit, budget=Budget(low=10))
    peer = ("Python loop with mmh3", PACKETS / min(loops) / 1e6)
    yield Row("simulator, sketches", mpps, unit, *peer, Budget(low=200, of="ratio"))
    yield Row("with exact counts", PACKETS / (best.sketch_s + best.truth_s) / 1e6, unit)
    yield Row("reading its records", PACKETS / best.read_s / 1e6, unit)
    yield Row("reading pcap", _capture_rate() / 1e6, unit)


def memory(run: Run) -> Iterator[Row]:
    """Of `sfcperf sfcmon simulate`, all processes."""
    millions = run.parameters.millions
    name, mib = f"memory for {millions} million packets", _memory_mib(_records(), millions)
    yield Row(name, mib, "MiB", budget=Budget(high=200))


def listings(run: Run) -> Iterator[Row]:
    """CPU time of listing different tables."""
    times_ms = [seconds * 1e3 for seconds in _listings_s(run.repetitions)]
    yield Row("listing of 200 flows in 300 cells", times_ms, "ms", budget=Budget(high=2))


def _records() -> Any:
    """The packets of a synthetic trace, in the simulator's own format."""
    trace = SyntheticTrace(seed=1, duration_s=60 * PACKETS / 10e6 + 1)
    captured = np.dtype(
        [
            ("s", "<u4"), ("ns", "<u4"), ("", "V8"), ("", "V2"), ("size", ">u2"), ("", "V5"),
            ("proto", "u1"), ("", "V2"), ("src", "V4"), ("dst", "V4"), ("src_port", ">u2"),
            ("dst_port", ">u2"), ("", "V4"),
        ]
    )  # fmt: skip
    pieces = list(trace.pcap())[1:]
    frames = np.frombuffer(b"".join(pieces), captured)[:PACKETS]
    records = np.zeros(PACKETS, RECORD)
    records["ts_ns"] = frames["s"].astype(np.uint64) * np.uint64(10**9) + frames["ns"]
    records["size_bytes"], records["proto"] = frames["size"], frames["proto"]
    records["src_port"], records["dst_port"] = frames["src_port"], frames["dst_port"]
    records["version"] = 4
    for name, column in (("src_ip", "src"), ("dst_ip", "dst")):
        records[name][:, :4] = np.frombuffer(frames[column].tobytes(), np.uint8).reshape(-1, 4)
    return records


def _parsed(records: Any) -> list[tuple[bytes, bytes, int, int, int, int]]:
    return [
        (src[:4], dst[:4], proto, src_port, dst_port, size)
        for src, dst, proto, src_port, dst_port, size in zip(
            map(bytes, records["src_ip"]),
            map(bytes, records["dst_ip"]),
            records["proto"].tolist(),
            records["src_port"].tolist(),
            records["dst_port"].tolist(),
            records["size_bytes"].tolist(),
            strict=True,
        )
    ]


class Loop:
    """Algorithms 1 to 3 as the paper writes them, a function each."""

    def __init__(self) -> None:
        sizes = Sizes()
        self.seen = 0
        self.cms = [[0] * sizes.cms_columns for _ in range(sizes.cms_rows)]
        self.bloom = [0] * sizes.bloom_bits
        self.iblt = [[0, 0, 0, 0, 0] for _ in range(sizes.iblt_cells)]
        self.cells = sizes.iblt_hashes

    def process(
        self, src: bytes, dst: bytes, proto: int, src_port: int, dst_port: int, size: int
    ) -> None:
        flow_id_1 = PATH + src
        self.seen += 1
        self.update_cms(flow_id_1)
        if self.seen >= LIMITS.eval:
            estimate = self.estimate_cms(flow_id_1)
            if estimate << 32 >= LIMITS.share * self.seen:
                ports = src_port.to_bytes(2, "big") + dst_port.to_bytes(2, "big")
                flow_id_2 = PATH + bytes((proto, 4, 0, 0)) + ports + src + dst
                if not self.is_in_bloom(flow_id_2):
                    self.insert_bloom(flow_id_2)
                    self.insert_iblt(flow_id_2)
                self.update_iblt(flow_id_2, size)

    def update_cms(self, key: bytes) -> None:
        for seed, row in enumerate(self.cms, start=1):
            column = mmh3.hash(key, seed, False) * len(row) >> 32
            row[column] = min(row[column] + 1, 0xFFFFFF)

    def estimate_cms(self, key: bytes) -> int:
        return min(
            row[mmh3.hash(key, seed, False) * len(row) >> 32]
            for seed, row in enumerate(self.cms, start=1)
        )

    def bits(self, key: bytes) -> list[int]:
        return [mmh3.hash(key, 9 + i, False) * len(self.bloom) >> 32 for i in range(4)]

    def is_in_bloom(self, key: bytes) -> bool:
        return all(self.bloom[bit] for bit in self.bits(key))

    def insert_bloom(self, key: bytes) -> None:
        for bit in self.bits(key):
            self.bloom[bit] = 1

    def places(self, key: bytes) -> list[int]:
        cells: list[int] = []
        for i in range(self.cells):
            cell = mmh3.hash(key, 16 + i, False) * len(self.iblt) >> 32
            while cell in cells:
                cell = (cell + 1) % len(self.iblt)
            cells.append(cell)
        return cells

    def insert_iblt(self, key: bytes) -> None:
        for place in self.places(key):
            cell = self.iblt[place]
            cell[0] += 1
            cell[1] ^= int.from_bytes(key.ljust(44, b"\0"), "big")
            cell[2] ^= mmh3.hash(key, 22, False)

    def update_iblt(self, key: bytes, size: int) -> None:
        for place in self.places(key):
            cell = self.iblt[place]
            cell[3] += 1
            cell[4] += size


def _loop_s(parsed: list[tuple[bytes, bytes, int, int, int, int]]) -> tuple[float, Loop]:
    """CPU time."""
    loop = Loop()
    begin = time.process_time()
    for packet in parsed:
        loop.process(*packet)
    return time.process_time() - begin, loop


def _simulated(trace: Path, loop: Loop) -> TraceEnd:
    """The loop did the same: its IBLT tells."""
    window, end = simulate(trace, SIMULATION)
    assert isinstance(window, Window)
    assert isinstance(end, TraceEnd)
    cells = [[n, int(k, 16), *rest] for _, n, k, *rest in window.registers["iblt"]]
    assert cells == [cell for cell in loop.iblt if any(cell)]
    return end


def _capture_rate() -> float:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "trace.pcap"
        with path.open("wb") as file:
            file.writelines(SyntheticTrace(seed=1, duration_s=6).pcap())
        *_, end = simulate(path, SIMULATION)
    assert isinstance(end, TraceEnd)
    return end.frames / end.read_s


COMMAND = """
import resource, sys
from sfcperf.cli.main import main
try:
    main()
finally:
    # Not ru_maxrss, which begins with that of the process before execve().
    own = next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
    simulator = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print((own + simulator) / 1024, file=sys.stderr)
"""


def _memory_mib(records: Any, millions: int) -> float:
    """Peak of the command and of the simulator, together. (What the kernel says of the simulator
    is at least what the command had when it started it.)"""
    words = ["sfcmon", "simulate", "-", "--window-s", "60", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    with process.stdin as stdin:
        stdin.write(MAGIC)
        for million in range(millions):
            again = records.copy()
            again["ts_ns"] += np.uint64(million * 6 * 10**9)
            # Other sources in each minute.
            again["src_ip"][:, 0] = (again["src_ip"][:, 0] + million // 10) % 223
            stdin.write(again.tobytes())
    told = process.stderr.read().decode()
    assert process.wait() == 0, told
    return float(told.split()[-1])


def _listings_s(count: int) -> Iterator[float]:
    rng = random.Random(1)
    for _ in range(count):
        table = Iblt(Sizes(iblt_cells=300).iblt)
        for _ in range(200):
            table.insert(rng.randbytes(20))
        begin = time.process_time()
        listing(table.shape, table.cells, lambda key: key[:20])
        yield time.process_time() - begin


if __name__ == "__main__":
    about = "packets for the memory, in millions"
    Benchmark(
        __doc__,
        {speed: 3, memory: 1, listings: 100},
        {"millions": Parameter(100, about, int)},
    ).main()
