"""sfc-heavy-hitter: what a frame takes in each engine, and how well the sketch counts.

    .venv/bin/python benchmarks/heavy_hitter.py [--dpdk-source DIR]

`speed`: ring to ring, without any device; the time that an engine works on a frame of 64 bytes, in
one thread, in turn with the others. The P4 program is interpreted, and compiled where the sources
of DPDK 22.11 are: the C that DPDK makes of it needs headers that are not installed.
`accuracy`: counts of the engine against the truth.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _sfcmon.ratio import ratio
from numpy.typing import NDArray

from sfcperf.sketches.jhash import jhash
from sfcperf.vnfs import binaries
from sfcperf.vnfs.heavy_hitter.compile import SPEC
from sfcperf.vnfs.heavy_hitter.model import row_key
from sfcperf.vnfs.sfcmon.packet import Flow

FLOWS, PACKETS, COLUMNS, THRESHOLD = 82_000, 1_000_000, 65_536, 1000
ROUNDS, MEASURED_MS = 6, 1000
NEVER = 0xFFFFFFFE
GOALS_MPPS = {("native", 4): 10, ("native", 8): 8, ("swx, compiled", 4): 2.5}
ETHERNET = bytes.fromhex("0200000000010200000000020800")


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dpdk-source", type=Path)
    source = parser.parse_args().dpdk_source
    numbers = zipf()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_trace(folder / "trace.pcap", numbers)
        speed(folder, source)
        accuracy(folder, numbers)


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


# --- speed ---


def speed(folder: Path, source: Path | None) -> None:
    """Each engine, with 1, 4 and 8 rows."""
    common = ["--trace", folder / "trace.pcap", "--repeat-ms", MEASURED_MS]
    for rows in (1, 4, 8):
        engines: dict[str, list[object]] = {
            "native": ["--engine", "native"],
            "swx, interpreted": ["--engine", "swx", "--spec", SPEC],
        }
        if source is not None:
            library = compiled(folder, source, rows)
            engines["swx, compiled"] = [*engines["swx, interpreted"], "--library", library]
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
            (measured,) = run(words)
            found[name].append(measured["ns_per_frame"])
    for name, values in found.items():
        ns = median(values)
        goal = GOALS_MPPS.get((name, rows)) if threshold == NEVER else None
        wanted = f" (goal: {goal})" if goal else ""
        print(f"  {name}: {ns:.0f} ns, {1000 / ns:.2f} Mpps{wanted}")
    if len(found) > 2:
        print(
            f"  compiled by interpreted: {ratio(found['swx, compiled'], found['swx, interpreted'])}"
        )
    print(f"  interpreted by native: {ratio(found['swx, interpreted'], found['native'])}")


def compiled(folder: Path, source: Path, rows: int) -> Path:
    """The program as a library."""
    code, library = folder / "pipeline.c", folder / f"pipeline-{rows}.so"
    run(["--engine", "swx", "--spec", SPEC, "--rows", rows, "--generate", code])
    flags = subprocess.run(
        ["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=True
    ).stdout.split()
    argv = ["gcc", "-O3", "-fPIC", "-shared", *flags, "-DALLOW_EXPERIMENTAL_API"]
    argv += ["-DALLOW_INTERNAL_API", f"-I{source / 'lib' / 'pipeline'}", "-o", str(library)]
    subprocess.run([*argv, str(code)], check=True)
    return library


# --- accuracy ---


def accuracy(folder: Path, numbers: NDArray[np.int64]) -> None:
    """Estimates of all flows."""
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


if __name__ == "__main__":
    main()
