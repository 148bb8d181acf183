"""pktgen: packets at a set rate through the chain: loss, order, one-way latency."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.active.base import Probe, ProbeResult, samples
from sfcperf.active.pktgen.load import QUANTILES, PktgenLoad, endpoint_limits
from sfcperf.active.pktgen.output import ReceiverReport
from sfcperf.active.pktgen.run import (
    BINARY,
    MOST_PPS,
    PARAMETERS,
    USUAL_PORT,
    Outcome,
    PktgenRun,
    ip_protocols,
    milliseconds,
)
from sfcperf.active.server import free_port, port_parameter
from sfcperf.active.validity import loss_parameter
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number, object_schema, positive
from sfcperf.results.values import Loss, Metric

_MS_PER_S = 1000
_LEAST_PACKETS_PER_S = 10
"""Packets per second that a chain surely carries at the highest rate. A chain that carries fewer is
taken for one that is not crossed."""
_GENERATOR_SHARE = 0.9
"""Share of the generator's rate without a chain. A chain that carries so much may carry more than
the generator can send."""

_METRICS = (
    Metric("tx_pps", "1/s", "packets that the client's interface took, per second"),
    Metric(
        "rx_pps",
        "1/s",
        "packets per second that arrived at the server within the sender's time after the first "
        "one, without duplicates",
        better="higher",
        primary=True,
    ),
    Metric(
        "loss_ratio",
        "1",
        "share of packets that did not arrive",
        better="lower",
        out_of="packets_sent",
    ),
    Metric(
        "reordered",
        "1",
        "packets that arrived after a later one of their flow (RFC 4737)",
        better="lower",
    ),
    Metric("duplicated", "1", "packets that arrived once more", better="lower"),
    *(
        Metric(
            f"latency_{name}_us",
            "us",
            f"one-way latency that {float(quantile * 100):g} % of the packets do not exceed, "
            "steps of 0.8 %; only where both endpoints have one clock",
            better="lower",
        )
        for name, quantile in QUANTILES.items()
    ),
)


class Pktgen(Probe):
    """Sends packets of one size, or of a mix, evenly spaced, from one CPU, and counts them where
    the server's interface receives them."""

    name = "pktgen"
    reported = _METRICS
    offers = PktgenLoad
    compiled = (BINARY,)
    title = "Packet rate, loss, reordering and one-way latency at a set rate"
    parameters = object_schema(
        {
            "rate_pps": integer(
                "Packets to send per second, all flows together. Default: as many as the engine "
                "can.",
                (1, MOST_PPS),
            ),
            "duration_s": number("How long to send, seconds.", (0.01, 3600), default=5),
            "rate_tolerance": positive(
                "The trial is untrusted if the sender is more than this ratio below rate_pps.",
                0.5,
                default=0.01,
            ),
            "loss_warning": loss_parameter(
                "packets that do not arrive at rate_pps (without it, losses are intended)"
            ),
            **PARAMETERS,
            "port": port_parameter("Destination port of the packets.", USUAL_PORT, lowest=1),
        }
    )
    _run: PktgenRun | None = None

    @classmethod
    def label(cls, parameters: Mapping[str, Any]) -> str:
        """Return `pktgen-udp` or `pktgen-tcp-syn`."""
        return f"{cls.name}-{parameters['protocol']}"

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s`: the last packets come at once in a healthy chain."""
        return float(parameters["duration_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets that are asked for. Without a rate, it is a few per second,
        because the chain's throughput is not known yet."""
        # Doubled here, because it is halved below like a rate that was asked for.
        rate_pps = parameters.get("rate_pps", 2 * _LEAST_PACKETS_PER_S)
        return max(1, int(parameters["duration_s"] * rate_pps / 2))

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return `udp` or `tcp`."""
        return ip_protocols(parameters)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Warm the chain up, and run the same load for a short time without the chain, to see what
        the generator itself can do and loses."""
        server = deployment.server.host
        self._port = self.parameters.get("port") or free_port(server, USUAL_PORT)
        self._run = PktgenRun(self.parameters, self._port)
        self._run.start(deployment, raw_dir, self._rate_pps)
        # Reports of sender and receiver without the chain, and the time that they are of, seconds.
        self._alone = self._run.calibrate(deployment, raw_dir, self._rate_pps)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the packets and count those that arrive. Raises MeasurementError when none does."""
        assert self._run is not None, "prepare comes first"
        outcome = self._run.offer(
            deployment, raw_dir, self._rate_pps, self.parameters["duration_s"]
        )
        sent, received = outcome.sent, outcome.received
        if not received.unique:
            raise MeasurementError(f"none of {sent.packets} packets arrived")
        # The last number of `arrivals` counts packets that came after the sender's time.
        in_time = received.arrivals[:-1]
        values: dict[str, float | None] = {
            "tx_pps": sent.packets / self._sending_s,
            "rx_pps": sum(in_time) / self._sending_s,
            "loss_ratio": (sent.packets - received.unique) / sent.packets,
            "reordered": received.reordered,
            "duplicated": received.duplicated,
            **self._latencies(received),
        }
        part_s = self._sending_s / len(in_time)
        return ProbeResult(
            samples(_METRICS, values),
            tuple(self._doubts(outcome, deployment)),
            self._notes(outcome),
            {"rx_pps": [packets / part_s for packets in in_time]},
            part_s,
            self.loss(sent.packets, received.unique),
        )

    def loss(self, sent: int, arrived: int) -> Loss:
        """Return the packets that did not arrive. Without a rate, losses are intended (the load is
        more than the chain carries), so readers are not warned of them."""
        return Loss(
            max(0, sent - arrived),
            sent,
            "packets did not arrive",
            "rate, order and latency are those of the others",
            self.parameters["loss_warning"] if self._rate_pps else 1.0,
        )

    def cleanup(self) -> None:
        """End what still runs of sfc-pktgen at both ends."""
        if self._run is not None:
            self._run.stop()
            self._run = None

    @property
    def _rate_pps(self) -> int:
        """The rate to send at; 0 means as many packets as the engine can send."""
        return int(self.parameters.get("rate_pps", 0))

    @property
    def _sending_s(self) -> float:
        """The time that sfc-pktgen sends for: `duration_s` in whole milliseconds."""
        return milliseconds(self.parameters["duration_s"]) / _MS_PER_S

    def _latencies(self, received: ReceiverReport) -> dict[str, float | None]:
        """Return the latencies by metric; None if the endpoints do not share a clock."""
        known = self._run is not None and self._run.shares_clock
        return {
            f"latency_{name}_us": received.latency_us(quantile) if known else None
            for name, quantile in QUANTILES.items()
        }

    def _doubts(self, outcome: Outcome, deployment: Deployment) -> list[str]:
        """Say why the numbers should not be believed: the endpoints lost packets, the sender was
        too slow, or the generator makes errors even without a chain."""
        doubts = endpoint_limits(outcome, deployment)
        reached_pps = outcome.sent.packets / self._sending_s
        if reached_pps < (1 - self.parameters["rate_tolerance"]) * self._rate_pps:
            doubts.append(
                f"the sender reached {reached_pps:.0f} of {self._rate_pps} pps "
                f"(tolerance {self.parameters['rate_tolerance']:.0%})"
            )
        sent, received, alone_s = self._alone
        received_pps = sum(outcome.received.arrivals[:-1]) / self._sending_s
        if not self._rate_pps and received_pps >= _GENERATOR_SHARE * sent.packets / alone_s:
            doubts.append("the generator is hardly faster without a chain, so it may be the limit")
        if wrong := sent.packets - received.unique + received.duplicated + received.reordered:
            doubts.append(
                f"the generator itself loses, duplicates or reorders packets: {wrong} of "
                f"{sent.packets} without a chain"
            )
        return doubts

    def _notes(self, outcome: Outcome) -> dict[str, Any]:
        """Return the facts for the record of the trial: the engine, packets by what became of them,
        and what the generator does without the chain."""
        assert self._run is not None, "prepare comes first"
        alone, alone_received, alone_s = self._alone
        alone_pps = alone.packets / alone_s
        notes: dict[str, Any] = {
            "engine": self._run.engine,
            "engine_reason": self._run.engine_reason,
            "receiver_mode": outcome.received.mode,
            "port": self._port,
            "packets_sent": outcome.sent.packets,
            "packets_received": outcome.received.unique,
            "packets_skipped": outcome.sent.skipped,
            "packets_refused": outcome.sent.refused,
            "sender_interface_drops": outcome.sender_drops,
            "receiver_interface_drops": outcome.receiver_drops,
            "calibration_pps": alone_pps,
        }
        if alone_received.unique:
            notes["calibration_latency_p50_us"] = alone_received.latency_us(QUANTILES["p50"])
        if not self._run.shares_clock:
            notes["no_latency"] = "the endpoints are different machines: their clocks differ"
        return notes
