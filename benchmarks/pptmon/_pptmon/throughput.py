"""What sampling costs the throughput of a VNF that forwards in the kernel.

One TCP stream runs all the time, through one or the other of two VNFs that are alike, of which
one has pptmon. It changes every tenth of a second, in an order that is drawn anew for each pair of
windows; half way, pptmon moves to the other VNF, so that a difference between the two cancels
out. Windows on a shared machine have outliers: the mean is trimmed, of ratios on a logarithmic
scale, so that none counts more for being above than for being below.

The stream uses Reno and a small window, so that nothing but work limits it: BBR paces itself by
its own estimates, which scatter by a fifth, and large windows overflow the kernel's queues.

Two places: sender and receiver on a CPU each, as anybody would run it; and all on one CPU, which
then does nothing but send, forward and receive packets of 64 KiB. The latter is the dearest case
for anything that is done per packet, and scatters least. There, two programs that do nothing are
attached in place of pptmon's too: what the kernel takes for having any.
"""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
from _runner import Budget, Row, Run
from _shared import bpf
from scipy.stats import mstats

from _pptmon.testbed import Testbed, on_cpu
from _pptmon.twins import CLIENT, SERVER, WAYS, Twins, twins
from sfcperf.hosts.process import inside

SETTLE_S = 0.025
WINDOW_S = 0.1
TRIMMED = 0.2
"""Of the ratios, at either end."""
STREAM = ("-C", "reno", "-w", "256K")


GOALS = {1.0: 0.01, 20.0: 0.02}
"""Samples per second -> share of the throughput."""


def throughputs(run: Run) -> Iterator[Row]:
    """What sampling takes from a stream, by pairs of windows."""
    pairs = run.repetitions // 8 if run.parameters.quick else run.repetitions
    for cpus in (2, 1):
        for rate_hz, goal in GOALS.items():
            yield _row(f"lost at {rate_hz:g} samples/s", rate_hz, pairs, cpus, goal)
    yield _row("lost with two programs that do nothing", None, pairs, 1, None)


def _row(what: str, rate_hz: float | None, pairs: int, cpus: int, goal: float | None) -> Row:
    loss, low, high, base_bps = _lost(rate_hz, pairs, cpus)
    return Row(
        f"throughput {what}, CPUs: {cpus}", loss, "%",
        budget=None if goal is None else Budget(high=goal),
        remarks=f"[{low:.2%}, {high:.2%}] of {base_bps / 1e9:.1f} Gbit/s in {pairs} pairs of "
        "windows; paper 3 % at 0.5/s, 5.7 % at 20/s",
        tolerated="open" if goal is not None and low <= goal else "",
    )  # fmt: skip


def _lost(rate_hz: float | None, pairs: int, cpus: int) -> tuple[float, float, float, float]:
    """Share of the throughput that is lost with its interval of 95 %, and the throughput without
    pptmon, bit/s. Offloads are as the kernel has them, sender and receiver on so many CPUs (1 or
    2). Without a rate, programs that do nothing take pptmon's place."""
    draw = random.Random(1)
    ratios, bases = [], []
    seconds = int(pairs * 2 * (SETTLE_S + WINDOW_S) * 1.2) + 30
    with twins() as bed, bed.beds["a"].listening(cpu=cpus - 1):
        with on_cpu(0):
            argv = ["iperf3", "-c", SERVER, "-B", CLIENT, "-t", str(seconds), *STREAM]
            stream = bed.beds["a"].client.spawn(argv)
        try:
            time.sleep(2)
            for observed_way in WAYS:
                with on_cpu(1), _observed(bed.beds[observed_way], rate_hz):
                    time.sleep(1)
                    for _ in range(pairs // 2):
                        rates = {way: _window(bed, way) for way in draw.sample(WAYS, 2)}
                        with_it, without = rates.pop(observed_way), rates.popitem()[1]
                        ratios.append(np.log(with_it / without))
                        bases.append(without)
        finally:
            stream.stop()
    kept = (TRIMMED, TRIMMED)
    low, high = mstats.trimmed_mean_ci(ratios, limits=kept, alpha=0.05)
    middle = float(mstats.trimmed_mean(ratios, limits=kept))
    loss, least, most = (float(-np.expm1(ratio)) for ratio in (middle, high, low))
    return loss, least, most, float(np.median(bases))


def _observed(bed: Testbed, rate_hz: float | None) -> AbstractContextManager[object]:
    return _nothing(bed) if rate_hz is None else bed.pptmon("--rate", str(rate_hz))


@contextmanager
def _nothing(bed: Testbed) -> Iterator[None]:
    """Programs that do nothing where those of pptmon would be."""
    program = bpf.load_nothing()
    with inside(bed.vnf.namespace):
        links = [
            bpf.attach(program, socket.if_nametoindex(interface), direction)
            for interface, direction in (("in", "ingress"), ("out", "egress"))
        ]
    try:
        yield
    finally:
        for descriptor in (*links, program):
            os.close(descriptor)


def _window(bed: Twins, way: str) -> float:
    """Bits per second into the server."""
    bed.go(way)
    time.sleep(SETTLE_S)
    begin, before = time.perf_counter(), bed.received_bytes()
    time.sleep(WINDOW_S)
    return (bed.received_bytes() - before) * 8 / (time.perf_counter() - begin)
