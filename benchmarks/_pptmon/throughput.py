"""What sampling costs the throughput of a VNF that forwards in the kernel.

One TCP stream runs all the time. Windows with pptmon and without follow one another, in an order
that is drawn anew for each pair; what a pair loses is one value. Starting pptmon (the kernel verifies
its programs) is not part of a window: it is a second before one, or the same second of rest.
"""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from dataclasses import dataclass

from _pptmon.testbed import SERVER, Testbed, mean_interval

WINDOW_S = 2.0
REST_S = 0.7


@dataclass(frozen=True)
class Loss:
    """Share of the throughput that is lost, with the half width of its interval of 95 %."""

    rate_hz: float
    loss: float
    half_width: float
    pairs: int
    base_bps: float


def measure(testbed: Testbed, rate_hz: float, pairs: int, seed: int = 1) -> Loss:
    """With offloads as the kernel has them."""
    testbed.offloads(True)
    order = random.Random(seed)
    losses, bases = [], []
    seconds = int(pairs * 2 * (WINDOW_S + REST_S + 1.5)) + 20
    with testbed.listening():
        argv = ["iperf3", "-c", SERVER, "-t", str(seconds)]
        stream = testbed.client.spawn(argv)
        try:
            time.sleep(2)
            for _ in range(pairs):
                rates = {}
                for sampled in order.sample([True, False], 2):
                    rates[sampled] = _window(testbed, rate_hz if sampled else None)
                losses.append(1 - rates[True] / rates[False])
                bases.append(rates[False])
        finally:
            stream.stop()
    loss, half_width = mean_interval(losses)
    return Loss(rate_hz, loss, half_width, pairs, sum(bases) / len(bases))


def _window(testbed: Testbed, rate_hz: float | None) -> float:
    """Bits per second into the server."""
    context = nullcontext() if rate_hz is None else testbed.pptmon("--rate", str(rate_hz))
    with context:
        time.sleep(REST_S)
        begin, bytes_before = time.perf_counter(), _received(testbed)
        time.sleep(WINDOW_S)
        elapsed, received = time.perf_counter() - begin, _received(testbed) - bytes_before
    return received * 8 / elapsed


def _received(testbed: Testbed) -> int:
    for line in testbed.server.read_text("/proc/net/dev").splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "eth0":
            return int(rest.split()[0])
    raise RuntimeError("the server has no eth0")
