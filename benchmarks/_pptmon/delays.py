"""A VNF whose time is known: vnfs/delay holds each packet for so long.

The time that it is set to goes from its reading a packet to its writing it. The kernel's way to
it and from it comes on top, and is what the same VNF set to 0 shows, in the same run; both
together are what is expected. Captures on both sides are the second judge.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from _pptmon.accuracy import Capture
from _pptmon.testbed import CLIENT, SERVER, Testbed
from sfcperf.passive.packet_matching import match
from sfcperf.vnfs.delay.function import Delay

DELAYS_US = (100, 1_000, 10_000, 100_000, 1_000_000)
PACKETS_PER_S = 1000
SECONDS = 4


@dataclass(frozen=True)
class Known:
    """Medians, microseconds."""

    delay_us: int
    reported_us: float
    captured_us: float
    samples: int


def measure(testbed: Testbed, delay_us: int) -> Known:
    """UDP at 1000 packets per second for some seconds, every tenth packet sampled."""
    testbed.offloads(False)
    knobs = {"delay_us": delay_us, "spin_us": 200, "buffer_mib": 64}
    with (
        testbed.function(Delay, knobs),
        testbed.listening(),
        testbed.pptmon("--rate", "100", "--filter", "proto=udp") as pptmon,
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
    return Known(delay_us, float(np.median(reported)), float(np.median(times)), len(reported))
