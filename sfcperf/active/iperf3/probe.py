"""iperf3: goodput of TCP or UDP through the chain, client to server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.iperf3.load import Iperf3Load
from sfcperf.active.iperf3.output import Iperf3Output
from sfcperf.active.iperf3.residual import Arrivals
from sfcperf.active.iperf3.test import (
    MAXIMUM,
    SOCKET_BUFFER_LIMITS,
    UDP_BUFFER_BYTES,
    USUAL_PORT,
    Iperf3Test,
)
from sfcperf.active.losses import EndpointLosses
from sfcperf.active.server import ServerProbe, port_parameter
from sfcperf.active.validity import loss_parameter
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import choice, integer, object_schema, positive
from sfcperf.results.values import Loss, Metric

_BITS_PER_BYTE = 8
_BUSY_PERCENT = 95.0
"""CPU use from which iperf3, a single thread up to version 3.15, counts as the limit."""
_LEAST_PACKETS_PER_S = 10
"""Packets per second that a chain surely carries at the rate "maximum". A chain that carries fewer
is taken for one that is not crossed."""
_LEAST_SEGMENT_BYTES = 88
"""Least MSS that Linux accepts."""
_TCP_HEADERS_BYTES = 52
"""Length of the headers of IPv4 and TCP with timestamps."""
_TYPICAL_SEGMENT_BYTES = 65_536
"""Largest segment that offloads hand over as one packet."""

_COMMON = (
    Metric(
        "rate_bps",
        "bit/s",
        "goodput: payload that the server's application received",
        better="higher",
        primary=True,
    ),
    Metric("sent_bps", "bit/s", "payload that the client sent"),
)
_TCP = (
    *_COMMON,
    Metric("retransmits", "1", "TCP segments that were sent again", better="lower", tick=1.0),
)
_UDP = (
    *_COMMON,
    Metric("rate_pps", "1/s", "datagrams that the server received per second", better="higher"),
    Metric(
        "loss_ratio",
        "1",
        "share of datagrams that did not reach the server",
        better="lower",
        out_of="datagrams_sent",
    ),
    Metric("jitter_us", "us", "interarrival jitter (RFC 3550) at the server", better="lower"),
)


class Iperf3(ServerProbe):
    """One iperf3 test. At the rate "maximum", TCP sends as fast as its congestion control allows,
    and UDP as fast as the client can. This is more than the chain carries, on purpose: what arrives
    is the chain's throughput."""

    name = "iperf3"
    usual_port = USUAL_PORT
    offers = Iperf3Load
    needs = (("iperf3", "iperf3", "--version"),)
    title = "Goodput of TCP or UDP, with loss, jitter and retransmissions"
    parameters = object_schema(
        {
            "protocol": choice("Transport protocol.", ["tcp", "udp"], default="tcp"),
            "duration_s": integer("Measured time, whole seconds.", (1, 86_400), default=5),
            "omit_s": integer(
                "Seconds at the start that do not count (TCP slow start).", (0, 60), default=0
            ),
            "rate_bps": {
                "oneOf": [{"type": "integer", "minimum": 1000}, {"const": MAXIMUM}],
                "default": MAXIMUM,
                "description": f'Payload to send, bit/s, all streams together; or "{MAXIMUM}".',
            },
            "rate_tolerance": positive(
                "The trial is untrusted if the sender is more than this ratio below "
                f'rate_bps, or if, at "{MAXIMUM}", the endpoints themselves lose more than this '
                "ratio (at a fixed rate they must lose none).",
                0.5,
                default=0.05,
            ),
            "payload_bytes": integer(
                "UDP: payload of a datagram, bytes. The IPv4 packet is 28 bytes longer "
                "and must fit the client's MTU. Default: the largest that fits. TCP: the maximum "
                f"segment size to request, {_LEAST_SEGMENT_BYTES} to 9216. Default: the system's.",
                (16, 65_507),
            ),
            "write_bytes": integer(
                "TCP: bytes that the client writes at a time. Default: iperf3's own, 131072. At a "
                "low rate_bps, large writes are bursts with long pauses between them; writes of "
                "one segment spread packets evenly.",
                (16, 1_048_576),
            ),
            "loss_warning": loss_parameter(
                'datagrams that are lost (UDP at a rate; at "maximum", losses are intended), or of '
                "segments that are sent again (TCP),"
            ),
            "streams": integer("Parallel connections or UDP flows.", (1, 128), default=1),
            "socket_buffer_bytes": integer(
                "Size of the socket buffers for sending and receiving at both ends, bytes, at most "
                "net.core.wmem_max and rmem_max. Default: for TCP, the system's; for UDP, as "
                f"much as the hosts allow, up to {UDP_BUFFER_BYTES}, so that a receiver that waits "
                "for its CPU loses nothing.",
                SOCKET_BUFFER_LIMITS,
            ),
            "congestion": {
                "type": "string",
                "pattern": "^[a-z0-9_]{1,15}$",
                "description": "TCP congestion control. Default: the client's.",
            },
            "port": port_parameter("TCP and UDP port of the server.", USUAL_PORT),
        },
        allOf=[
            {
                "if": {"properties": {"protocol": {"const": "udp"}}, "required": ["protocol"]},
                "then": {"properties": {"congestion": False, "write_bytes": False}},
                "else": {
                    "properties": {
                        "payload_bytes": {"minimum": _LEAST_SEGMENT_BYTES, "maximum": 9216}
                    }
                },
            }
        ],
    )

    @classmethod
    def metrics(cls, parameters: Mapping[str, Any]) -> tuple[Metric, ...]:
        """Return the metrics of the parameter `protocol`."""
        return _UDP if parameters["protocol"] == "udp" else _TCP

    @classmethod
    def label(cls, parameters: Mapping[str, Any]) -> str:
        """Return `iperf3-tcp` or `iperf3-udp`."""
        return f"{cls.name}-{parameters['protocol']}"

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the measured time plus the time that is omitted before it."""
        return float(parameters["duration_s"] + parameters["omit_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets that the rate means if they are as large as possible. At the
        rate "maximum", it is a few per second, because the chain's throughput is not known yet."""
        duration_s = parameters["duration_s"]
        if parameters["rate_bps"] == MAXIMUM:
            return int(duration_s * _LEAST_PACKETS_PER_S)
        largest = _TYPICAL_SEGMENT_BYTES
        if parameters["protocol"] == "udp":
            largest = parameters.get("payload_bytes", largest)
        packets = duration_s * parameters["rate_bps"] / _BITS_PER_BYTE / largest
        return max(1, int(packets // 2))

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the protocol of the test. The control connection, which always uses TCP, is not
        measured."""
        return frozenset({parameters["protocol"]})

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start the server of iperf3. Raises MeasurementError when it does not listen."""
        self._port = self.server_port(deployment.server.host)
        self._test = Iperf3Test(self.parameters, self._port)
        self._server = self._test.serve(deployment, raw_dir)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Run the client. Raises MeasurementError when iperf3 does not get through the chain."""
        udp = self.parameters["protocol"] == "udp"
        arrivals = Arrivals(deployment.server.host, self.parameters["streams"]) if udp else None
        output, losses = self._test.run(deployment, raw_dir)
        values: dict[str, float | None] = {
            "rate_bps": output.received_bps,
            "sent_bps": output.sent_bps,
            "retransmits": output.retransmits,
        }
        if arrivals is not None and (datagrams := output.datagrams) is not None:
            unread = arrivals.unread(datagrams, losses.rcvbuf_errors)
            datagrams = replace(datagrams, unread=unread)
            output = replace(output, datagrams=datagrams)
            values |= {
                "rate_pps": datagrams.received_per_s,
                "loss_ratio": datagrams.missing / datagrams.total,
                "jitter_us": datagrams.jitter_us,
            }
        return ProbeResult(
            samples(self.metrics(self.parameters), values),
            tuple(self._doubts(output, losses, deployment)),
            self._notes(output, losses),
            {"rate_bps": output.received_each_bps},
            loss=self.loss(output, deployment.client.mtu),
        )

    def loss(self, output: Iperf3Output, mtu: int) -> Loss:
        """Return the datagrams that were lost (UDP), or the segments that were sent again (TCP).
        iperf3 does not count TCP segments: their number is the payload divided by the largest
        segment that fits the client's MTU."""
        parameters = self.parameters
        if output.datagrams is not None:
            return Loss(
                output.datagrams.missing,
                output.datagrams.total,
                "datagrams were lost",
                "rate and jitter are those of the others",
                1.0 if parameters["rate_bps"] == MAXIMUM else parameters["loss_warning"],
            )
        again = output.retransmits or 0
        segment_bytes = parameters.get("payload_bytes", mtu - _TCP_HEADERS_BYTES)
        segments = round(output.sent_bps * output.sent_s / _BITS_PER_BYTE / segment_bytes)
        # The total exceeds the loss, because a trial that lost all is judged to have no result.
        return Loss(
            again,
            max(segments, again + 1),
            "TCP segments were sent again",
            "the rate is what congestion control leaves after that",
            parameters["loss_warning"],
        )

    def _doubts(
        self, output: Iperf3Output, losses: EndpointLosses, deployment: Deployment
    ) -> list[str]:
        """Say why the numbers should not be believed: the sender was too slow, or the endpoints
        lost too much."""
        parameters = self.parameters
        doubts = []
        maximum = parameters["rate_bps"] == MAXIMUM
        if (
            not maximum
            and output.sent_bps < (1 - parameters["rate_tolerance"]) * parameters["rate_bps"]
        ):
            doubts.append(
                f"the sender reached {output.sent_bps / 1e6:.3f} of the "
                f"{parameters['rate_bps'] / 1e6:.3f} Mbit/s requested "
                f"(tolerance {parameters['rate_tolerance']:.0%})"
            )
        if output.datagrams is None:
            return doubts + losses.of_interface(deployment.client)
        # At a fixed rate the loss ratio counts, and must be the chain's alone. At "maximum" the
        # received rate counts, which a small loss at an end falsifies by no more than itself.
        tolerance = parameters["rate_tolerance"] if maximum else 0
        return doubts + losses.of_udp(
            deployment.client,
            tolerance * output.datagrams.sent,
            tolerance * output.datagrams.received,
        )

    def _notes(self, output: Iperf3Output, losses: EndpointLosses) -> dict[str, Any]:
        """Return the facts for the record of the trial, with `limit` if the endpoints may have
        limited the rate "maximum"."""
        notes: dict[str, Any] = {
            "version": output.version,
            "port": self._port,
            "asked_rate_bps": self.parameters["rate_bps"],
            "receive_buffer_bytes": output.receive_buffer_bytes,
            "sender_cpu_percent": output.sender_cpu_percent,
            "receiver_cpu_percent": output.receiver_cpu_percent,
            **losses.notes(),
        }
        if output.congestion is not None:
            notes["congestion_control"] = output.congestion
        if output.datagrams is not None:
            notes["datagrams_sent"] = output.datagrams.sent
            notes["datagrams_received"] = output.datagrams.received
            notes["datagrams_unread"] = output.datagrams.unread
        if self.parameters["rate_bps"] == MAXIMUM and (limit := _limit_in_endpoints(output)):
            notes["limit"] = limit
        return notes


def _limit_in_endpoints(output: Iperf3Output) -> str | None:
    """Say why a result at the rate "maximum" may be the endpoints' rate, so that the chain might
    carry more. None: nothing points to that."""
    if output.datagrams is not None and output.datagrams.lost == 0:
        return "nothing was lost: the sender, not the chain, was the limit"
    # This tells nothing for UDP: a sender that sends all it can is always busy.
    if output.datagrams is None and output.sender_cpu_percent >= _BUSY_PERCENT:
        return "the sender used a whole CPU: it, not the chain, may be the limit"
    if output.receiver_cpu_percent >= _BUSY_PERCENT:
        return "the receiver used a whole CPU: it, not the chain, may be the limit"
    return None
