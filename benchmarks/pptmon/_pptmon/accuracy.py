"""What pptmon reports, beside captures of all packets on both sides of the VNF.

The truth is a packet's time between two tcpdumps in the VNF's namespace, one on what comes in
and one on what goes out. It contains what the first capture costs the packet, and PPTMon's own
work on a packet that is sampled; PPTMon's time contains neither.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _runner import Budget, Row, Run
from scipy import stats

from _pptmon.testbed import CLIENT, Testbed, testbed
from sfcperf.packets.identity import SNAPLEN, identity
from sfcperf.packets.matching import match
from sfcperf.packets.pcap_file import recorded
from sfcperf.vnfs.firewall.function import Firewall

PAPER_US = {"tcp": 6.5, "udp": 3.8}
SAMPLING = ("--rate", "20")


def accuracies(run: Run) -> Iterator[Row]:
    """What is reported, beside captures, with a firewall of 100 rules."""
    seconds = 8 if run.parameters.quick else 30
    # At the paper's rate packets come one by one, every 20 ms, into cold caches, and a capture
    # costs them several times as much: there, one capture more says how much.
    for rate, budget in (("20M", Budget(-1.5, 1.5, "excess")), ("500K", None)):
        for protocol, paper_us in PAPER_US.items():
            found, more = (
                _measured(protocol, rate, 100, seconds, SAMPLING, captures_more=count)
                for count in (0, 1)
            )
            yield _row(
                f"{protocol} at {rate}bit/s, 100 rules", *found, budget,
                f"; difference {_difference(*found)} (paper {paper_us} us); one capture more "
                f"makes it {_difference(*more)}",
            )  # fmt: skip


def choices(run: Run) -> Iterator[Row]:
    """Why packets are chosen at random (docs/decisions/0008)."""
    seconds = 8 if run.parameters.quick else 30
    for choice in ("first", "random"):
        sampling = ("--rate", "10", "--choice", choice)
        found = _measured("tcp", "20M", 0, seconds, sampling, bursts=True)
        yield _row(f"bursts of TCP at 20Mbit/s, --choice {choice}", *found)


def _row(
    name: str, reported: np.ndarray, captured: np.ndarray, budget: Budget | None = None,
    more: str = "",
) -> Row:  # fmt: skip
    mean_us = float(captured.mean()), float(reported.mean())
    remarks = f"reported {_mean(reported)}, captured {_mean(captured)}{more}"
    return Row(f"{name}, captured", mean_us[0], "us", "reported", mean_us[1], budget, remarks)


def _mean(values: np.ndarray) -> str:
    """With its interval of 95 % (t)."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{values.mean():.2f} ± {half:.2f} us ({len(values)})"


def _difference(reported: np.ndarray, captured: np.ndarray) -> str:
    """Captured minus reported: that of the means, with an interval of 95 % by the bootstrap."""
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
    return f"{captured.mean() - reported.mean():.2f} ± {(high - low) / 2:.2f} us"


def _measured(
    protocol: str, rate: str, rules: int, seconds: int, sampling: tuple[str, ...], *,
    bursts: bool = False, captures_more: int = 0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Reported and captured times, us.

    Endpoints have no offloads: a packet is a packet. TCP writes small, so that its packets come one
    by one, but for `bursts`: then it writes 128 KiB at once. `captures_more` are as many captures
    at the ingress beside the one that is read: what each adds is what one costs."""
    options = ["-t", str(seconds), "-b", rate]
    if protocol == "udp":
        options += ["-u"]
    elif not bursts:
        options += ["-l", "1300", "-N"]
    knobs = {"rules": rules, "engine": "nftables", "default": "accept"}
    flows = ("--filter", f"proto={protocol},src={CLIENT}")
    with testbed() as bed:
        bed.offloads(False)
        with (
            bed.function(Firewall, knobs),
            bed.listening(),
            bed.pptmon(*sampling, *flows) as pptmon,
        ):
            captures = {side: Capture(bed, side, protocol) for side in ("in", "out")}
            idle = [Capture(bed, "in", protocol) for _ in range(captures_more)]
            time.sleep(1)
            bed.iperf3(*options, timeout_s=seconds + 30)
            time.sleep(1.2)
            seen = {side: capture.end() for side, capture in captures.items()}
            for capture in idle:
                capture.end()
            reported = [s.own_time_ns for s in pptmon.samples() if s.own_time_ns is not None]
    captured = [t for _, t in match(seen["in"], seen["out"]).crossings]
    return np.asarray(reported, float) / 1e3, np.asarray(captured, float) / 1e3


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
