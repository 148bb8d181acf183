"""Packets per second of pktgen from one core, against the least that the kernel needs for them.

The floor redirects frames of XDP as they are to a veth whose other end drops them: no schedule, no
headers, no checksums, no timestamps, no counting. Both in turns, in the same run.

    sudo .venv/bin/python benchmarks/data_plane/pktgen.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from sfcperf.active.pktgen.load import QUANTILES
from sfcperf.active.pktgen.output import parse_calibration
from sfcperf.dataplane import binaries

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Row, Run
from _shared.chain import output
from _shared.live_frames import compiled
from _shared.veths import veths

HERE = Path(__file__).parent / "_pktgen"
TRIES = 5
"""At the highest rate, a pause of the machine is enough to lose packets."""
FLOOR_FRAMES = 2_000_000
DURATION_MS = 500
FRAMES = (64, 512, 1518)
FCS_BYTES = 4
RATES = (10_000, 100_000, 1_000_000)
PROGRAM = str(binaries.find("sfc-pktgen"))


def frames(run: Run) -> Iterator[Row]:
    """The highest rate, by frame size."""
    with tempfile.TemporaryDirectory() as folder, veths(("near", "far")) as space:
        floor = [*compiled(HERE / "floor", Path(folder)), "near", "far"]
        for size in FRAMES:
            argv = ["ip", "netns", "exec", space, *floor, size - FCS_BYTES, FLOOR_FRAMES]
            found = run.in_turn(
                {
                    "floor": lambda argv=argv: float(output(argv)) / 1e6,
                    "xdp": lambda size=size: calibrated("xdp", size, 0)[0] / 1e6,
                    "packet": lambda size=size: calibrated("packet", size, 0)[0] / 1e6,
                }
            )
            for engine in ("xdp", "packet"):
                name = f"{engine}, {size} bytes"
                yield Row(name, found[engine], "Mpps", "floor", found["floor"])


def latencies(run: Run) -> Iterator[Row]:
    """Beside fixed rates, over the bare cable."""
    for rate in RATES:
        found = run.in_turn([rate], partial(calibrated, "xdp", 64))[rate]
        for number, quantile in enumerate(QUANTILES):
            name = f"latency at {rate:,} pps, {quantile}"
            sent = median(sent for sent, _ in found)
            yield Row(name, [us[number] for _, us in found], "us", remarks=f"{sent:.0f} pps sent")


def calibrated(engine: str, size: int, rate: int) -> tuple[float, list[float]]:
    """Packets per second, and latencies in us, over a private cable."""
    argv = [PROGRAM, "--role", "calibrate", "--engine", engine, "--frames", str(size)]
    argv += ["--rate", str(rate), "--duration-ms", str(DURATION_MS)]
    for _ in range(TRIES):
        sent, received = parse_calibration(output(argv))
        if received.unique == sent.packets:
            break
        print(f"{sent.packets - received.unique} packets were lost: once more", file=sys.stderr)
    else:
        raise SystemExit(f"{sent.packets - received.unique} packets were lost, {TRIES} times")
    us = [received.latency_us(quantile) for quantile in QUANTILES.values()]
    return sent.packets / DURATION_MS * 1000, us


if __name__ == "__main__":
    Benchmark(__doc__, {frames: 5, latencies: 1}).main()
