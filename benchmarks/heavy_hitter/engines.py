"""sfc-heavy-hitter: what a frame takes in each engine, and how well the sketch counts.

    .venv/bin/python benchmarks/heavy_hitter/engines.py [--dpdk-source DIR] [ROW ...]

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

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh.packet import Flow
from sfcperf.sketches.jhash import jhash
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.model import row_key

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.ratio import ratio

FLOWS, PACKETS, COLUMNS, THRESHOLD = 82_000, 1_000_000, 65_536, 1000
ROUNDS, MEASURED_MS = 6, 1000
NEVER = 0xFFFFFFFE
GOALS_MPPS = {("native", 4): 10, ("native", 8): 8, ("swx, compiled", 4): 2.5}
EFFICIENCY = 0.95
OF_HAND_WRITTEN = 0.1
FEW = ["--frames", 100_000]
"""So many fit in the CPUs' caches: reading more would be what two threads wait for."""
MEMBER_ROWS = 5
"""Of librte_member's sketch: it has no others."""
HUGE_PAGES, HUGE_PAGES_WANTED = Path("/proc/sys/vm/nr_hugepages"), 600
HERE = Path(__file__).parent / "_heavy_hitter"
BY_HAND, LEAST = HERE / "hand_written.spec", HERE / "least.spec"
PROGRAMS = {"swx, compiled": SPEC, "swx, by hand": BY_HAND, "swx, least by hand": LEAST}
ETHERNET = bytes.fromhex("0200000000010200000000020800")


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--dpdk-source", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_trace(folder / "trace.pcap", zipf())
        for row in given.rows or ROWS:
            ROWS[row](folder, given.dpdk_source)
            sys.stdout.flush()


def zipf() -> NDArray[np.int64]:
    """The flow of each packet; flow n has a share proportional to 1 / n."""
    shares = 1 / np.arange(1, FLOWS + 1)
    drawn = np.random.default_rng(2024).choice(FLOWS, PACKETS, p=shares / shares.sum())
    return np.asarray(drawn, np.int64)


def flow(number: int) -> Flow:
    """One of the flows."""
    source = IPv4Address(0x0A000000 + number // 200)
    return Flow(0, 0, source, IPv4Address("10.128.0.1"), 17, 1024 + number % 200, 80)


def write_trace(path: Path, numbers: NDArray[np.int64]) -> None:
    """Frames of 60 bytes, to which a wire adds 4."""
    frames = [frame(flow(number)) for number in range(FLOWS)]
    head = struct.Struct("<IIII")
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1))
        for number in numbers:
            file.write(head.pack(0, 0, 60, 60) + frames[number])


def frame(of: Flow) -> bytes:
    """UDP."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0)
    udp = struct.pack(">HHHH", of.src_port, of.dst_port, 26, 0)
    return ETHERNET + ip + of.src.packed + of.dst.packed + udp + bytes(18)


def run(options: Sequence[object]) -> list[dict[str, Any]]:
    """Events of the tool; of another one, which is not static, to load a library."""
    tool = "sfc-heavy-hitter-loading" if "--library" in options else "sfc-heavy-hitter"
    argv = [str(word) for word in (binaries.find(tool), *options)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(options: Sequence[object]) -> list[dict[str, Any]]:
    """What each thread says of its frames, which are repeated."""
    (event,) = run([*options, "--repeat-ms", MEASURED_MS])
    threads: list[dict[str, Any]] = event["threads"]
    return threads


# --- speed ---


def speed(folder: Path, source: Path | None) -> None:
    """Each engine, with 1, 4 and 8 rows."""
    common: list[object] = ["--trace", folder / "trace.pcap"]
    for rows in (1, 4, 8):
        engines = plain_engines()
        if source is not None:
            for name, spec in PROGRAMS.items():
                library = compiled(folder, source, rows, spec)
                engines[name] = ["--engine", "swx", "--spec", spec, "--library", library]
            must_count_alike([engines[name] for name in ("native", *PROGRAMS)], rows, common)
        for threshold in (NEVER, THRESHOLD):
            print(f"speed, d = {rows}, {'no' if threshold == NEVER else 'some'} heavy hitters")
            show_speed(rows, threshold, engines, common)


def show_speed(
    rows: int, threshold: int, engines: dict[str, list[object]], common: list[object]
) -> None:
    """All in turn."""
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, options in engines.items():
            words = [*options, *common, "--rows", rows, "--threshold", threshold]
            found[name].append(measured(words)[0]["quartile_ns_per_frame"])
    for name, values in found.items():
        ns = median(values)
        goal = GOALS_MPPS.get((name, rows)) if threshold == NEVER else None
        wanted = f" (goal: {goal})" if goal else ""
        print(f"  {name}: {ns:.0f} ns, {1000 / ns:.2f} Mpps{wanted}")
    print(f"  interpreted by native: {ratio(found['swx, interpreted'], found['native'])}")
    if (ours := found.get("swx, compiled")) is not None:
        print(f"  compiled by interpreted: {ratio(ours, found['swx, interpreted'])}")
        by_hand = ratio(ours, found["swx, by hand"])
        print(f"  compiled by that by hand: {by_hand} (goal: {1 + OF_HAND_WRITTEN:g})")
        print(f"  compiled by the least by hand: {ratio(ours, found['swx, least by hand'])}")


def must_count_alike(engines: Sequence[list[object]], rows: int, common: Sequence[object]) -> None:
    """Stop if a frame is not counted, or elsewhere."""
    options = [*common, "--rows", rows, "--threshold", THRESHOLD, "--cells"]
    first, *others = (run([*words, *options])[-2]["cells"] for words in engines)
    if any(each != first for each in others):
        raise SystemExit(f"the engines have other counts with {rows} rows")


def compiled(folder: Path, source: Path, rows: int, spec: Path = SPEC) -> Path:
    """The program as a library."""
    code, library = folder / "pipeline.c", folder / f"{spec.stem}-{rows}.so"
    run(["--engine", "swx", "--spec", spec, "--rows", rows, "--generate", code])
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
    argv = ["pkg-config", *wanted, "libdpdk"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


# --- beside DPDK's own sketch ---


def member(folder: Path, _: Path | None) -> None:
    """The engine takes frames apart, too: what it does more is part of its time."""
    tool = folder / "member"
    flags = ["-O3", "-DALLOW_EXPERIMENTAL_API", *dpdk_flags("--cflags", "--libs")]
    subprocess.run(["gcc", HERE / "member.c", "-o", tool, *flags], check=True)
    native: list[object] = ["--engine", "native", "--threshold", NEVER, "--rows", MEMBER_ROWS]
    native += ["--trace", folder / "trace.pcap", "--columns", COLUMNS]
    found: dict[str, list[float]] = defaultdict(list)
    for _round in range(ROUNDS):
        found["native, frames"].append(measured(native)[0]["all_ns_per_frame"])
        for sampled in (1, 0.01):
            argv = [tool, folder / "trace.pcap", MEASURED_MS, sampled, COLUMNS]
            words = [str(word) for word in argv]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            found[f"rte_member, keys, sample rate {sampled}"].append(float(done.stdout))
    ours = found["native, frames"]
    print(f"beside librte_member's sketch, d = {MEMBER_ROWS}, w = {COLUMNS}, CPU time")
    for name, values in found.items():
        print(f"  {name}: {median(values):.0f} ns; native by it: {ratio(ours, values)}")


# --- threads and memory ---


def threads(folder: Path, _: Path | None) -> None:
    """Whether each costs what one alone does."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        print("threads: left out, there is one CPU")
        return
    print("two threads, CPU time of a frame (copied from memory as well)")
    for engine, words in plain_engines().items():
        common = [*words, *FEW, "--trace", folder / "trace.pcap", "--threshold", NEVER]
        alone, together = [], []
        for _round in range(ROUNDS):
            [one] = measured([*common, "--cpus", cpus[0]])
            alone.append(one["all_ns_per_frame"])
            both = measured([*common, "--cpus", ",".join(map(str, cpus))])
            together.append(sum(each["all_ns_per_frame"] for each in both) / 2)
        print(
            f"  {engine}: {median(alone):.0f} ns alone, {median(together):.0f} ns each of two: "
            f"efficiency {ratio(alone, together)} (goal: {EFFICIENCY})"
        )


def memory(folder: Path, _: Path | None) -> None:
    """Huge pages against those of 4 KiB."""
    if not os.access(HUGE_PAGES, os.W_OK) or int(HUGE_PAGES.read_text()):
        print("memory: left out, it takes root and a machine that has no huge pages yet")
        return
    found: dict[str, list[float]] = defaultdict(list)
    for _round in range(ROUNDS):
        for engine, words in plain_engines().items():
            common = [*words, "--trace", folder / "trace.pcap", "--threshold", NEVER]
            found[engine].append(measured(common)[0]["all_ns_per_frame"])
            with huge_pages():
                found[f"{engine}, huge"].append(measured(common)[0]["all_ns_per_frame"])
    print("huge pages, CPU time of a frame (copied from memory as well)")
    for engine in plain_engines():
        ours, usual = found[f"{engine}, huge"], found[engine]
        print(
            f"  {engine}: {median(ours):.0f} ns, without {median(usual):.0f} ns, "
            f"{ratio(ours, usual)}"
        )


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


def accuracy(folder: Path, _: Path | None) -> None:
    """Estimates of all flows."""
    numbers = zipf()
    truth = np.bincount(numbers, minlength=FLOWS)
    keys = [row_key(flow(number), 0) for number in range(FLOWS)]
    places = np.array(
        [[jhash(row.to_bytes(4, "big") + key) & COLUMNS - 1 for key in keys] for row in range(8)]
    )
    sent = truth > 0
    print(f"accuracy, w = {COLUMNS}, {sent.sum()} flows, {PACKETS} packets, threshold {THRESHOLD}")
    for rows in (1, 2, 3, 4, 8):
        for words in ([], ["--conservative"]):
            estimates = estimated(folder, rows, words, places)
            relative = (estimates[sent] - truth[sent]) / truth[sent]
            false = ((estimates > THRESHOLD) & (truth <= THRESHOLD)).sum()
            how = "conservative" if words else "usual"
            print(
                f"  d = {rows}, {how}: average relative error {relative.mean():.3f}, "
                f"false positives {false}, underestimated {(relative < 0).sum()}"
            )


def estimated(
    folder: Path, rows: int, words: list[str], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What the native engine's sketch says of each flow. The tests show that the other engine has
    the same counts."""
    options = ["--engine", "native", "--trace", folder / "trace.pcap", "--rows", rows, "--cells"]
    cells = run([*options, "--threshold", NEVER, *words])[-2]["cells"]
    counts = np.zeros((rows, COLUMNS), np.int64)
    for row, column, count in cells:
        counts[row, column] = count
    return np.min([counts[row, places[row]] for row in range(rows)], axis=0)


ROWS: dict[str, Callable[[Path, Path | None], None]] = {
    "speed": speed,
    "member": member,
    "threads": threads,
    "memory": memory,
    "accuracy": accuracy,
}


if __name__ == "__main__":
    main()
