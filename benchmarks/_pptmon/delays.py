"""A VNF whose time is known: vnfs/delay holds each packet for so long.

Its time goes from reading a packet to writing it; the kernel's way to it and from it comes on top,
and is not known. So two settings are measured in turns, which differ by the known delay and are
alike otherwise: in both, the VNF watches the clock while it holds a packet, on a CPU of its own.
The kernel's way still differs from one start of the VNF to the next, by some microseconds, so that
a short delay takes many turns. Captures on both sides tell what is the VNF's and what is pptmon's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from _pptmon.accuracy import Capture
from _pptmon.testbed import CLIENT, SERVER, Testbed, mean_interval, on_cpu
from sfcperf.passive.packet_matching import match
from sfcperf.vnfs.delay.function import Delay

TURNS = {100: 20, 1_000: 4, 10_000: 4, 100_000: 4, 1_000_000: 4}
"""By known delay, microseconds."""
PACKETS_PER_S = 1000
SECONDS = 1
BASE_US = 100
"""Of both settings."""
SPIN_US = 250
"""For so long, before a packet's time, the VNF watches the clock."""


@dataclass(frozen=True)
class Known:
    """What the known delay adds, microseconds: means over turns of differences of medians, each
    with the half width of its interval of 95 %."""

    delay_us: int
    reported_us: tuple[float, float]
    captured_us: tuple[float, float]
    apart_us: tuple[float, float]
    """Reported less captured, turn by turn."""
    samples: int


def measure(testbed: Testbed, delay_us: int) -> Known:
    """UDP at 1000 packets per second, of which pptmon samples as many as it gets."""
    reported, captured, samples = [], [], 0
    for _ in range(TURNS[delay_us]):
        without, with_it = _turn(testbed, BASE_US), _turn(testbed, BASE_US + delay_us)
        reported.append(with_it[0] - without[0])
        captured.append(with_it[1] - without[1])
        samples += with_it[2]
    apart = mean_interval([r - c for r, c in zip(reported, captured, strict=True)])
    return Known(delay_us, mean_interval(reported), mean_interval(captured), apart, samples)


def _turn(testbed: Testbed, delay_us: int) -> tuple[float, float, int]:
    """Medians of what is reported and captured, and how many samples there were."""
    testbed.offloads(False)
    knobs = {"delay_us": delay_us, "spin_us": SPIN_US, "buffer_mib": 64}
    with (
        testbed.function(Delay, knobs, cpu=0),
        on_cpu(1),
        testbed.listening(),
        testbed.pptmon("--rate", str(PACKETS_PER_S), "--filter", "proto=udp") as pptmon,
    ):
        captures = {side: Capture(testbed, side, "udp") for side in ("in", "out")}
        time.sleep(1)
        bits = PACKETS_PER_S * 200 * 8
        testbed.client.run(
            ["iperf3", "-c", SERVER, "-u", "-b", str(bits), "-l", "200", "-t", str(SECONDS)],
            timeout_s=SECONDS + 60,
        )
        time.sleep(1.5 + delay_us / 1e6)
        seen = {side: capture.end() for side, capture in captures.items()}
        samples = pptmon.samples()
    times = [t / 1e3 for _, t in match(seen["in"], seen["out"]).crossings]
    reported = [s.own_time_ns / 1e3 for s in samples if s.flow and s.flow.src == CLIENT]
    return float(np.median(reported)), float(np.median(times)), len(reported)
