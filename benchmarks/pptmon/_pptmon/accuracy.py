"""What pptmon reports, beside captures of all packets on both sides of the VNF.

The truth is a packet's time between two tcpdumps in the VNF's namespace, one on what comes in
and one on what goes out. It contains what the first capture costs the packet, and PPTMon's own
work on a packet that is sampled; PPTMon's time contains neither.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from _pptmon.testbed import CLIENT, Testbed
from sfcperf.packets.identity import SNAPLEN, identity
from sfcperf.packets.matching import match
from sfcperf.packets.pcap_file import recorded
from sfcperf.vnfs.firewall.function import Firewall


@dataclass(frozen=True)
class Accuracy:
    """Microseconds."""

    protocol: str
    rate: str
    rules: int
    reported_us: tuple[float, float]
    """Mean and half width (95 %) of what pptmon reports."""
    captured_us: tuple[float, float]
    """The same, of all packets that were captured on both sides."""
    difference_us: tuple[float, float]
    """Captured minus reported: difference of the means, half width by the bootstrap."""
    samples: int
    packets: int


def measure(
    testbed: Testbed,
    protocol: str,
    rate: str,
    rules: int,
    seconds: int,
    rate_hz: float,
    *,
    bursts: bool = False,
    choice: str = "random",
    captures_more: int = 0,
) -> Accuracy:
    """Endpoints without offloads: a packet is a packet. TCP writes small, so that its packets come
    one by one, but for `bursts`: then it writes 128 KiB at once. `captures_more` are as many
    captures at the ingress beside the one that is read: what each adds is what one costs."""
    testbed.offloads(False)
    options = ["-t", str(seconds), "-b", rate]
    if protocol == "udp":
        options += ["-u"]
    elif not bursts:
        options += ["-l", "1300", "-N"]
    knobs = {"rules": rules, "engine": "nftables", "default": "accept"}
    sampling = ("--rate", str(rate_hz), "--filter", f"proto={protocol},src={CLIENT}")
    sampling += ("--choice", choice)
    with (
        testbed.function(Firewall, knobs),
        testbed.listening(),
        testbed.pptmon(*sampling) as pptmon,
    ):
        captures = {side: Capture(testbed, side, protocol) for side in ("in", "out")}
        idle = [Capture(testbed, "in", protocol) for _ in range(captures_more)]
        time.sleep(1)
        testbed.iperf3(*options, timeout_s=seconds + 30)
        time.sleep(1.2)
        seen = {side: capture.end() for side, capture in captures.items()}
        for capture in idle:
            capture.end()
        reported = [s.own_time_ns / 1e3 for s in pptmon.samples() if s.own_time_ns is not None]
    captured = np.asarray([t for _, t in match(seen["in"], seen["out"]).crossings], float) / 1e3
    return _summary(protocol, rate, rules, np.asarray(reported), captured)


def _summary(
    protocol: str, rate: str, rules: int, reported: np.ndarray, captured: np.ndarray
) -> Accuracy:
    from scipy import stats

    from _pptmon.testbed import mean_interval

    test = stats.bootstrap(
        (captured, reported),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        n_resamples=2000,
        vectorized=True,
        method="percentile",
        batch=20,
        random_state=np.random.default_rng(1),
    )
    low, high = test.confidence_interval
    difference = float(captured.mean() - reported.mean())
    return Accuracy(
        protocol,
        rate,
        rules,
        mean_interval(reported),
        mean_interval(captured),
        (difference, float(high - low) / 2),
        len(reported),
        len(captured),
    )


class Capture:
    """What enters by `in`, or leaves by `out`, of one protocol, from the client."""

    def __init__(self, testbed: Testbed, side: str, protocol: str) -> None:
        self.path: Path = testbed.folder / f"{side}-{time.monotonic_ns()}.pcap"
        argv = ["tcpdump", "-i", side, "-nn", "-s", str(SNAPLEN), "-B", "16384"]
        argv += ["--time-stamp-precision=nano", "-w", str(self.path)]
        argv += ["src", "host", CLIENT, "and", protocol]
        self._process = testbed.vnf.spawn(argv)

    def end(self) -> list[tuple[object, int]]:
        self._process.stop()
        seen = ((identity(frame), time_ns) for time_ns, frame in recorded(self.path))
        return [(what, when) for what, when in seen if what is not None]
