"""Packets per second of pktgen from one core, against the least that the kernel needs for them.

The floor redirects frames of XDP as they are to a veth whose other end drops them: no schedule, no
headers, no checksums, no timestamps, no counting. Both in turns, in the same run, five times.

    sudo .venv/bin/python benchmarks/data_plane/pktgen.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from sfcperf.active.pktgen.load import QUANTILES
from sfcperf.active.pktgen.output import parse_calibration
from sfcperf.dataplane import binaries

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.chain import output
from _shared.live_frames import compiled

HERE = Path(__file__).parent / "_pktgen"
ROUNDS = 5
TRIES = 5
"""At the highest rate, a pause of the machine is enough to lose packets."""
FLOOR_FRAMES = 2_000_000
DURATION_MS = 500
FRAMES = (64, 512, 1518)
FCS_BYTES = 4
RATES = (10_000, 100_000, 1_000_000)


def main() -> None:
    """Print medians and their ratio per frame size, then latency beside fixed rates."""
    program = str(binaries.find("sfc-pktgen"))
    with tempfile.TemporaryDirectory() as folder, cable() as space:
        floor = [*compiled(HERE / "floor", Path(folder)), "near", "far"]
        for size in FRAMES:
            found: dict[str, list[float]] = {"floor": [], "xdp": [], "packet": []}
            for _ in range(ROUNDS):
                argv = ["ip", "netns", "exec", space, *floor, str(size - FCS_BYTES)]
                found["floor"].append(float(output([*argv, str(FLOOR_FRAMES)])))
                for engine in ("xdp", "packet"):
                    found[engine].append(calibrated(program, engine, size, 0)[0])
            rates = {name: median(values) for name, values in found.items()}
            shares = {name: rates[name] / rates["floor"] for name in ("xdp", "packet")}
            print(
                f"{size:5d} bytes: floor {rates['floor'] / 1e6:.2f} Mpps, "
                + ", ".join(
                    f"{name} {rates[name] / 1e6:.2f} Mpps ({share:.0%} of the floor)"
                    for name, share in shares.items()
                )
            )
    for rate in RATES:
        reached, latencies = calibrated(program, "xdp", 64, rate)
        print(
            f"{rate:8d} pps asked: {reached:.0f} sent, latency p50/p99/p999 "
            + "/".join(f"{value:.2f}" for value in latencies)
            + " us over the bare cable"
        )


def calibrated(program: str, engine: str, size: int, rate: int) -> tuple[float, list[float]]:
    """Packets per second, and latencies in us, over a private cable."""
    argv = [program, "--role", "calibrate", "--engine", engine, "--frames", str(size)]
    argv += ["--rate", str(rate), "--duration-ms", str(DURATION_MS)]
    for _ in range(TRIES):
        sent, received = parse_calibration(output(argv))
        if received.unique == sent.packets:
            break
        print(f"{sent.packets - received.unique} packets were lost: once more", file=sys.stderr)
    else:
        raise SystemExit(f"{sent.packets - received.unique} packets were lost, {TRIES} times")
    latencies = [received.latency_us(quantile) for quantile in QUANTILES.values()]
    return sent.packets / DURATION_MS * 1000, latencies


@contextmanager
def cable() -> Iterator[str]:
    """A namespace with a pair of veths."""
    space = f"bench-pktgen-{os.getpid()}"
    output(["ip", "netns", "add", space])
    try:
        ends = ["add", "near", "type", "veth", "peer", "name", "far"]
        output(["ip", "-n", space, "link", *ends])
        for end in ("near", "far"):
            output(["ip", "-n", space, "link", "set", end, "up"])
        yield space
    finally:
        output(["ip", "netns", "delete", space])


if __name__ == "__main__":
    main()
