"""sfc-heavy-hitter: what a frame takes in each engine, and how well the sketch counts.

    .venv/bin/python benchmarks/heavy_hitter/engines.py [--dpdk-source DIR] [PART ...]

`speed`: ring to ring, without any device; the time that an engine works on a frame of 64 bytes, in
one thread, in turn with the others: the first quartile of the time's slices, which leaves out those
in which others had the CPU. The P4 program is interpreted, and compiled where the sources
of DPDK 22.11 are: the C that DPDK makes of it needs headers that are not installed. So are two
programs that were written for the pipeline by hand: `_heavy_hitter/hand_written.spec`, which does
all that the P4 program does, and `least.spec`, which knows only TCP and UDP over IPv4.
`member`: CPU time of a frame, beside that of its key in the sketch of DPDK's librte_member.
`threads`: CPU time of a frame with two threads at work, against one.
`memory`: with huge pages, which are asked of the kernel and given back (root), and without.
`accuracy`: counts of the engine against the truth.
Figures of CPU time hold on a busy machine, and ratios of `speed`.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from ipaddress import IPv4Address
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.sketches.jhash import jhash
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.model import row_key

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run, Skipped
from _shared.chain import output
from _shared.pcap import write_pcap

FLOWS, PACKETS, COLUMNS, THRESHOLD = 82_000, 1_000_000, 65_536, 1000
MEASURED_MS = 1000
NEVER = 0xFFFFFFFE
GOALS_MPPS = {("native", 4): 10, ("native", 8): 8, ("swx, compiled", 4): 2.5}
FEW = ["--frames", 100_000]
"""So many fit in the CPUs' caches: reading more would be what two threads wait for."""
MEMBER_ROWS = 5
"""Of librte_member's sketch: it has no others."""
HUGE_PAGES, HUGE_PAGES_WANTED = Path("/proc/sys/vm/nr_hugepages"), 600
HERE = Path(__file__).parent / "_heavy_hitter"
BY_HAND, LEAST = HERE / "hand_written.spec", HERE / "least.spec"
PROGRAMS = {"swx, compiled": SPEC, "swx, by hand": BY_HAND, "swx, least by hand": LEAST}
ETHERNET = bytes.fromhex("0200000000010200000000020800")


@cache
def zipf() -> NDArray[np.int64]:
    """The flow of each packet; flow n has a share proportional to 1 / n."""
    shares = 1 / np.arange(1, FLOWS + 1)
    drawn = np.random.default_rng(2024).choice(FLOWS, PACKETS, p=shares / shares.sum())
    return np.asarray(drawn, np.int64)


def flow(number: int) -> Flow:
    """One of the flows."""
    source = IPv4Address(0x0A000000 + number // 200)
    return Flow(0, 0, source, IPv4Address("10.128.0.1"), 17, 1024 + number % 200, 80)


@contextmanager
def trace() -> Iterator[Path]:
    """Frames of 60 bytes, to which a wire adds 4; in a folder of their own."""
    frames = [frame(flow(number)) for number in range(FLOWS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.pcap")
        write_pcap(path, ((0, frames[number]) for number in zipf()))
        yield path


def frame(of: Flow) -> bytes:
    """UDP."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0)
    udp = struct.pack(">HHHH", of.src_port, of.dst_port, 26, 0)
    return ETHERNET + ip + of.src.packed + of.dst.packed + udp + bytes(18)


def events(options: Sequence[object]) -> list[dict[str, Any]]:
    """Events of the tool; of another one, which is not static, to load a library."""
    tool = "sfc-heavy-hitter-loading" if "--library" in options else "sfc-heavy-hitter"
    return [json.loads(line) for line in output([binaries.find(tool), *options]).splitlines()]


def measured(options: Sequence[object]) -> list[dict[str, Any]]:
    """What each thread says of its frames, which are repeated."""
    (event,) = events([*options, "--repeat-ms", MEASURED_MS])
    threads: list[dict[str, Any]] = event["threads"]
    return threads


def cost(options: Sequence[object]) -> float:
    """CPU time of a frame, ns: mean of the threads."""
    return mean(thread["all_ns_per_frame"] for thread in measured(options))


# --- speed ---


def speed(run: Run) -> Iterator[Row]:
    """Each engine, with 1, 4 and 8 rows."""
    source = run.parameters.dpdk_source
    with trace() as file:
        common: list[object] = ["--trace", file]
        for rows in (1, 4, 8):
            engines = plain_engines()
            if source is not None:
                for name, spec in PROGRAMS.items():
                    library = compiled(file.parent, source, rows, spec)
                    engines[name] = ["--engine", "swx", "--spec", spec, "--library", library]
                must_count_alike([engines[name] for name in ("native", *PROGRAMS)], rows, common)
            for threshold in (NEVER, THRESHOLD):
                options = [*common, "--rows", rows, "--threshold", threshold]
                yield from speeds(run, rows, threshold, options, engines)


def speeds(
    run: Run, rows: int, threshold: int, options: list[object], engines: dict[str, list[object]]
) -> Iterator[Row]:
    """Time of a frame: the first quartile of the time's slices."""
    found = run.in_turn(
        engines, lambda words: measured([*words, *options])[0]["quartile_ns_per_frame"]
    )
    case = f"d = {rows}, {'no' if threshold == NEVER else 'some'} heavy hitters"
    for name, ns in found.items():
        goal = GOALS_MPPS.get((name, rows)) if threshold == NEVER else None
        budget = None if goal is None else Budget(high=1000 / goal)
        yield Row(
            f"{name}, {case}", ns, "ns", budget=budget, remarks=f"{1000 / median(ns):.2f} Mpps"
        )
    for name, peer, budget in (
        ("swx, interpreted", "native", None),
        ("swx, compiled", "swx, interpreted", None),
        ("swx, compiled", "swx, by hand", Budget(high=1.1, of="ratio")),
        ("swx, compiled", "swx, least by hand", None),
    ):
        if name in found:
            yield Row(f"{name}, {case}", found[name], "ns", peer, found[peer], budget)


def must_count_alike(engines: Sequence[list[object]], rows: int, common: Sequence[object]) -> None:
    """Stop if a frame is not counted, or elsewhere."""
    options = [*common, "--rows", rows, "--threshold", THRESHOLD, "--cells"]
    first, *others = (events([*words, *options])[-2]["cells"] for words in engines)
    if any(each != first for each in others):
        raise SystemExit(f"the engines have other counts with {rows} rows")


def compiled(folder: Path, source: Path, rows: int, spec: Path = SPEC) -> Path:
    """The program as a library."""
    code, library = folder / "pipeline.c", folder / f"{spec.stem}-{rows}.so"
    events(["--engine", "swx", "--spec", spec, "--rows", rows, "--generate", code])
    # It is compiled where it runs: for this CPU, where Debian's flags are for any. The program is
    # one function: instructions that GCC leaves out of it look up the places of their fields.
    argv = ["gcc", "-O3", "-fPIC", "-shared", *dpdk_flags("--cflags"), "-march=native"]
    argv += ["--param=large-function-growth=100000"]
    argv += [
        "-DALLOW_EXPERIMENTAL_API",
        "-DALLOW_INTERNAL_API",
        f"-I{source / 'lib' / 'pipeline'}",
        "-o",
        str(library),
    ]
    subprocess.run([*argv, str(code)], check=True)
    return library


def dpdk_flags(*wanted: str) -> list[str]:
    """To compile with it."""
    return output(["pkg-config", *wanted, "libdpdk"]).split()


# --- beside DPDK's own sketch ---


def member(run: Run) -> Iterator[Row]:
    """The engine takes frames apart, too: what it does more is part of its time."""
    ours = "native, frames"
    with trace() as file:
        tool = file.with_name("member")
        flags = ["-O3", "-DALLOW_EXPERIMENTAL_API", *dpdk_flags("--cflags", "--libs")]
        output(["gcc", HERE / "member.c", "-o", tool, *flags])
        native: list[object] = ["--engine", "native", "--threshold", NEVER, "--rows", MEMBER_ROWS]
        native += ["--trace", file, "--columns", COLUMNS]
        sides = {ours: partial(cost, native)}
        for sampled in (1, 0.01):
            argv = [tool, file, MEASURED_MS, sampled, COLUMNS]
            name = f"rte_member, keys, sample rate {sampled}"
            sides[name] = lambda argv=argv: float(output(argv))
        found = run.in_turn(sides)
    for peer, values in list(found.items())[1:]:
        name = f"{ours}, d = {MEMBER_ROWS}, w = {COLUMNS}, CPU time"
        yield Row(name, found[ours], "ns", peer, values)


# --- threads and memory ---


def threads(run: Run) -> Iterator[Row]:
    """Whether each costs what one alone does (copied from memory as well)."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise Skipped("there is one CPU")

    with trace() as file:
        for engine, words in plain_engines().items():
            common = [*words, *FEW, "--trace", file, "--threshold", NEVER, "--cpus"]
            sides = {"alone": [*common, cpus[0]], "together": [*common, f"{cpus[0]},{cpus[1]}"]}
            found = run.in_turn(sides, cost)
            name, budget = f"efficiency of two threads, {engine}", Budget(low=0.95, of="ratio")
            yield Row(name, found["alone"], "ns", "each of two", found["together"], budget)


def memory(run: Run) -> Iterator[Row]:
    """Huge pages against those of 4 KiB (frames are copied from memory as well)."""
    if not os.access(HUGE_PAGES, os.W_OK) or int(HUGE_PAGES.read_text()):
        raise Skipped("it takes root and a machine that has no huge pages yet")

    with trace() as file:
        for engine, words in plain_engines().items():
            common = [*words, "--trace", file, "--threshold", NEVER]
            usual = partial(cost, common)
            found = run.in_turn({"usual": usual, "huge": huge_pages()(usual)})
            name = f"huge pages, {engine}, CPU time"
            yield Row(name, found["huge"], "ns", "without", found["usual"])


@contextmanager
def huge_pages() -> Iterator[None]:
    """For a while."""
    before = HUGE_PAGES.read_text()
    try:
        HUGE_PAGES.write_text(str(HUGE_PAGES_WANTED))
        if int(HUGE_PAGES.read_text()) < HUGE_PAGES_WANTED:
            raise SystemExit("the kernel has not enough memory for huge pages")
        yield
    finally:
        HUGE_PAGES.write_text(before)


def plain_engines() -> dict[str, list[object]]:
    """Those that need no sources of DPDK."""
    return {
        "native": ["--engine", "native"],
        "swx, interpreted": ["--engine", "swx", "--spec", SPEC],
    }


# --- accuracy ---


def accuracy(_: Run) -> Iterator[Row]:
    """Estimates of all flows, against the truth."""
    numbers = zipf()
    truth = np.bincount(numbers, minlength=FLOWS)
    keys = [row_key(flow(number), 0) for number in range(FLOWS)]
    places = np.array(
        [[jhash(row.to_bytes(4, "big") + key) & COLUMNS - 1 for key in keys] for row in range(8)]
    )
    sent = truth > 0
    with trace() as file:
        for rows in (1, 2, 3, 4, 8):
            for how, words in (("usual", []), ("conservative", ["--conservative"])):
                estimates = estimated(file, rows, words, places)
                relative = (estimates[sent] - truth[sent]) / truth[sent]
                false = ((estimates > THRESHOLD) & (truth <= THRESHOLD)).sum()
                yield Row(
                    f"average relative error, d = {rows}, {how}", float(relative.mean()),
                    remarks=f"false positives {false}, underestimated {(relative < 0).sum()}, of "
                    f"{sent.sum()} flows",
                )  # fmt: skip


def estimated(
    trace_file: Path, rows: int, words: list[str], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What the native engine's sketch says of each flow. The tests show that the other engine has
    the same counts."""
    options = ["--engine", "native", "--trace", trace_file, "--rows", rows, "--cells"]
    cells = events([*options, "--threshold", NEVER, *words])[-2]["cells"]
    counts = np.zeros((rows, COLUMNS), np.int64)
    for row, column, count in cells:
        counts[row, column] = count
    return np.min([counts[row, places[row]] for row in range(rows)], axis=0)


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {speed: 6, member: 6, threads: 6, memory: 6, accuracy: 1},
        {"dpdk_source": Parameter(None, "sources of DPDK 22.11", Path)},
    ).main()
