"""What sampling costs the throughput of a VNF that forwards in the kernel.

One TCP stream runs all the time, through one or the other of two VNFs that are alike, of which
one has pptmon. It changes every half second, in an order that is drawn anew for each pair of
windows; half way, pptmon moves to the other VNF, so that a difference between the two cancels
out.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from _pptmon.testbed import mean_interval
from _pptmon.twins import CLIENT, SERVER, WAYS, Twins, twins

SETTLE_S = 0.1
WINDOW_S = 0.4


@dataclass(frozen=True)
class Loss:
    """Share of the throughput that is lost, with the half width of its interval of 95 %."""

    rate_hz: float
    loss: float
    half_width: float
    pairs: int
    base_bps: float


def measure(rate_hz: float, pairs: int, seed: int = 1) -> Loss:
    """With offloads as the kernel has them."""
    draw = random.Random(seed)
    losses, bases = [], []
    sender, receiver = (("taskset", "-c", str(cpu)) for cpu in _two_cpus())
    with twins() as bed, bed.beds["a"].listening(*receiver):
        stream = bed.beds["a"].client.spawn(
            [*sender, "iperf3", "-c", SERVER, "-B", CLIENT, "-t", str(int(pairs * 1.1) + 30)]
        )
        try:
            time.sleep(2)
            for sampled_way in WAYS:
                with bed.beds[sampled_way].pptmon("--rate", str(rate_hz)):
                    time.sleep(1)
                    for _ in range(pairs // 2):
                        rates = {way: _window(bed, way) for way in draw.sample(WAYS, 2)}
                        with_it, without = rates.pop(sampled_way), rates.popitem()[1]
                        losses.append(1 - with_it / without)
                        bases.append(without)
        finally:
            stream.stop()
    loss, half_width = mean_interval(losses)
    return Loss(rate_hz, loss, half_width, len(losses), sum(bases) / len(bases))


def _two_cpus() -> tuple[int, int]:
    """For sender and receiver; the VNF's kernel works where the sender does. Left to the scheduler,
    their places would decide more than what is measured."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[0], cpus[1 % len(cpus)]


def _window(bed: Twins, way: str) -> float:
    """Bits per second into the server."""
    bed.go(way)
    time.sleep(SETTLE_S)
    begin, before = time.perf_counter(), bed.received_bytes()
    time.sleep(WINDOW_S)
    return (bed.received_bytes() - before) * 8 / (time.perf_counter() - begin)
