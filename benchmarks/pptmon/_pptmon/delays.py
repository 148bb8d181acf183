"""A VNF whose time is known: vnfs/delay holds each packet for so long.

Its time goes from reading a packet to writing it; the kernel's way to it and from it comes on top,
and is not known. So two settings are measured in turns, which differ by the known delay and are
alike otherwise: in both, the VNF holds some packet at any time and watches the clock, on a CPU of
its own, so that it never has to be woken. The kernel's way still differs a little from one start of
the VNF to the next, so that a short delay takes more turns. Captures on both sides tell what is the
VNF's and what is pptmon's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from _runner import Budget, Row, Run
from scipy.stats import mstats

from _pptmon.accuracy import Capture
from _pptmon.testbed import CLIENT, SERVER, Testbed, on_cpu, testbed
from sfcperf.packets.matching import match
from sfcperf.vnfs.delay.function import Delay

TURNS = {100: 10, 1_000: 8, 10_000: 8, 100_000: 8, 1_000_000: 8}
"""By known delay, microseconds."""
PACKETS_PER_S = 10_000
PAYLOAD_BYTES = 200
SAMPLES_PER_S = 500
SECONDS = 1
BASE_US = 2_000
"""Of both settings: longer than any pause between packets."""
SPIN_US = 10_000_000


def known_delays(run: Run) -> Iterator[Row]:
    """Of a VNF that holds each packet for so long; UDP, packets one by one.

    What the known delay adds: medians over turns of differences of medians, each with half of its
    interval of 95 % (Hettmansperger and Sheather): a turn in which the machine was busy elsewhere
    is no measure of the VNF.
    """
    for delay_us, turns in list(TURNS.items())[: 3 if run.parameters.quick else None]:
        more, samples = [], 0
        with testbed() as bed:
            for _ in range(turns):
                without, with_it = _turn(bed, BASE_US), _turn(bed, BASE_US + delay_us)
                more.append((with_it[0] - without[0], with_it[1] - without[1]))
                samples += with_it[2]
        (reported, half), captured = (_median(list(values)) for values in zip(*more, strict=True))
        apart = _median([r - c for r, c in more])
        allowed = max(0.01 * delay_us, 2.0)
        yield Row(
            f"known delay {delay_us / 1e3:g} ms, reported", reported, "us", "known", delay_us,
            Budget(-allowed, allowed, "excess"),
            f"± {half:.1f} us ({samples} samples); captured {captured[0]:.1f} ± {captured[1]:.1f} "
            f"us; reported less captured {apart[0]:+.1f} ± {apart[1]:.1f} us",
        )  # fmt: skip


def _median(values: list[float]) -> tuple[float, float]:
    low, high = mstats.median_cihs(values, alpha=0.05)
    return float(np.median(values)), float(high - low) / 2


def _turn(testbed: Testbed, delay_us: int) -> tuple[float, float, int]:
    """Medians of what is reported and captured, and how many samples there were."""
    testbed.offloads(False)
    knobs = {"delay_us": delay_us, "spin_us": SPIN_US, "buffer_mib": 64}
    with (
        testbed.function(Delay, knobs, cpu=0),
        on_cpu(1),
        testbed.listening(),
        testbed.pptmon("--rate", str(SAMPLES_PER_S), "--filter", "proto=udp") as pptmon,
    ):
        captures = {side: Capture(testbed, side, "udp") for side in ("in", "out")}
        time.sleep(1)
        bits = PACKETS_PER_S * PAYLOAD_BYTES * 8
        argv = ["iperf3", "-c", SERVER, "-u", "-b", str(bits), "-l", str(PAYLOAD_BYTES)]
        argv += ["--pacing-timer", "50", "-t", str(SECONDS)]
        testbed.client.run(argv, timeout_s=SECONDS + 60)
        time.sleep(1.5 + delay_us / 1e6)
        seen = {side: capture.end() for side, capture in captures.items()}
        samples = pptmon.samples()
    times = [t / 1e3 for _, t in match(seen["in"], seen["out"]).crossings]
    reported = [s.own_time_ns / 1e3 for s in samples if s.flow and s.flow.src == CLIENT]
    return float(np.median(reported)), float(np.median(times)), len(reported)
