"""Loads of sfc-pktgen, for a search of the throughput."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfcperf.active.load import Latency, Load, LoadGenerator
from sfcperf.active.pktgen.output import ReceiverReport, SenderReport
from sfcperf.active.pktgen.run import (
    MOST_PPS,
    PARAMETERS,
    USUAL_PORT,
    Outcome,
    PktgenRun,
    ip_protocols,
    milliseconds,
)
from sfcperf.active.server import free_port
from sfcperf.counts import count_text, were_text
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import object_schema

QUANTILES = {"p50": Fraction(1, 2), "p99": Fraction(99, 100), "p999": Fraction(999, 1000)}
_MS_PER_S = 1000
_WARMUP_PPS = 1000
_GENERATOR_SHARE = 0.9
"""Share of the generator's highest rate without a chain. Up to this rate, the generator by itself
is surely fast enough."""
_CALIBRATIONS = 3
"""How often the generator's rate without a chain is measured."""
_WAITED_SHARE = 0.5
"""A sender that skipped packets was short of the time in which they were due. It may have waited
for a CPU for at most this share of that time. If it waited longer, other processes held it up, not
the chain."""


class PktgenLoad(LoadGenerator):
    """Offers loads with sfc-pktgen. Each load is a run of whole milliseconds, with a receiver of
    its own."""

    parameters = object_schema(PARAMETERS)
    has_latency = True
    shortest_s = 0.05
    _run: PktgenRun | None = None

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return `udp` or `tcp`."""
        return ip_protocols(parameters)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Warm the chain up, and measure the generator's highest rate without the chain."""
        server = deployment.server.host
        port = free_port(server, USUAL_PORT) if self.port is None else self.port
        self._run = PktgenRun(self.parameters, port)
        self._run.start(deployment, raw_dir, _WARMUP_PPS)
        # The highest of several rates is taken: other work on the machine can only lower a rate.
        self._alone_pps = max(self._alone(deployment, raw_dir) for _ in range(_CALIBRATIONS))

    def _alone(self, deployment: Deployment, raw_dir: Path) -> float:
        """Measure the generator's highest rate without a chain, packets per second."""
        assert self._run is not None, "prepare comes first"
        sent, _, duration_s = self._run.calibrate(deployment, raw_dir, rate_pps=0)
        return sent.packets / duration_s

    def offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: float, duration_s: float
    ) -> Load:
        """Run sfc-pktgen for `duration_s`. The rate is rounded to a whole number of packets/s from
        1 to MOST_PPS."""
        assert self._run is not None, "prepare comes first"
        whole_pps = min(max(1, round(rate_pps)), MOST_PPS)
        outcome = self._run.offer(deployment, raw_dir, whole_pps, duration_s)
        # Packets that the server's interface dropped had crossed the chain. It may have dropped
        # packets of others too, hence `min` below.
        delivered = outcome.received.unique + outcome.receiver_drops
        return Load(
            rate_pps,
            outcome.sent.packets,
            min(outcome.sent.packets, delivered),
            milliseconds(duration_s) / _MS_PER_S,
            "; ".join(endpoint_limits(outcome, deployment)),
            _latency(outcome.received) if self._run.shares_clock else None,
            withheld(outcome.sent, whole_pps, self._alone_pps) if self._run.shares_cpu else 0,
        )

    def cleanup(self) -> None:
        """End what still runs of sfc-pktgen at both ends."""
        if self._run is not None:
            self._run.stop()
            self._run = None


def withheld(sent: SenderReport, rate_pps: int, alone_pps: float) -> int:
    """Return how many packets a chain on the sender's machine kept it from sending: the sender's
    CPU does the chain's work before it comes to the next packet. The number is 0 where the chain
    cannot be blamed: the generator is hardly faster without a chain (`alone_pps`), other processes
    had the CPU, or the kernel does not tell whether they had."""
    if rate_pps > _GENERATOR_SHARE * alone_pps or sent.waited_s is None:
        return 0
    short_s = sent.skipped / rate_pps
    return sent.skipped if sent.waited_s <= _WAITED_SHARE * short_s else 0


def _latency(received: ReceiverReport) -> Latency | None:
    """Return the percentiles of the latency; None if no packet arrived."""
    if not received.unique:
        return None
    return Latency(*(received.latency_us(quantile) for quantile in QUANTILES.values()))


def endpoint_limits(outcome: Outcome, deployment: Deployment) -> list[str]:
    """Say what the endpoints themselves lost, or could not tell from duplicates; empty if
    nothing."""
    reasons = []
    if outcome.receiver_drops:
        reasons.append(
            f"{were_text(outcome.receiver_drops, 'packet')} lost at the server's interface "
            f"{deployment.server.interface}, after the chain had delivered them"
        )
    if outcome.received.unjudged:
        reasons.append(
            f"{count_text(outcome.received.unjudged, 'packet')} came too late to be told from "
            "duplicates"
        )
    return reasons
