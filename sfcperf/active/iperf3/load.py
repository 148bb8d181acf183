"""Loads of UDP datagrams by iperf3, for a search of the throughput."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import ceil, inf
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.active.iperf3.output import UdpOutput
from sfcperf.active.iperf3.test import SOCKET_BUFFER_LIMITS, USUAL_PORT, Iperf3Test
from sfcperf.active.load import Load, OffersLoad
from sfcperf.active.mtu import ETHERNET_BYTES, IPV4_HEADER_BYTES, UDP_HEADER_BYTES, check_frame
from sfcperf.active.server import free_port
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import protocol_counters
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, object_schema

_BITS_PER_BYTE = 8
_OVERHEAD_BYTES = ETHERNET_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES
_RESIDUAL_S = 2.0
"""Time for packets that are still on their way (RFC 2544, section 23) ..."""
_QUIET_S = 0.5
"""... unless none has arrived for so long: the last ones are lost."""
_POLL_S = 0.02


class Iperf3Load(OffersLoad):
    """Each load is a test of iperf3, UDP, of whole seconds. iperf3 sends what is due once in a
    millisecond: above 1,000 packets per second they leave in small bursts."""

    parameters = object_schema(
        {
            "frame_bytes": integer(
                "Size of the Ethernet frames, with header and frame check sequence (RFC 2544, "
                f"section 9), bytes: {_OVERHEAD_BYTES} more than the payload of the datagram. The "
                "IPv4 packet in it must fit the client's MTU. Default: the largest that fits.",
                (64, 9018),
            ),
            "streams": integer("UDP flows, which share the rate.", (1, 128), default=1),
            "socket_buffer_bytes": integer(
                "Size of the socket buffers at both ends, bytes. Default: as that of the probe "
                "iperf3.",
                SOCKET_BUFFER_LIMITS,
            ),
        }
    )
    protocols = frozenset({"udp"})
    shortest_s = 1.0
    _port: int
    _payload_bytes: int
    _server: Process | None = None

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Choose a port. Raises MeasurementError when there is none, or when the frames do not fit
        the client's MTU."""
        largest = deployment.client.mtu + ETHERNET_BYTES
        frame_bytes = self.parameters.get("frame_bytes", largest)
        check_frame(deployment.client, frame_bytes)
        self._payload_bytes = frame_bytes - _OVERHEAD_BYTES
        server = deployment.server.host
        self._port = free_port(server, USUAL_PORT) if self.port is None else self.port

    def offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: float, duration_s: float
    ) -> Load:
        """See OffersLoad.offer. Raises MeasurementError when no datagram gets through."""
        streams = self.parameters["streams"]
        rate_bps = max(streams, round(rate_pps * self._payload_bytes * _BITS_PER_BYTE))
        test = Iperf3Test(self._test_parameters(rate_bps, ceil(duration_s)), self._port)
        delivered_before = _delivered(deployment.server.host)
        self._server = test.serve(deployment, raw_dir)
        try:
            seen, losses = test.run(deployment, raw_dir)
        finally:
            self.cleanup()
        if seen.datagrams is None:
            raise MeasurementError("iperf3 reports a test of TCP")
        # Each flow begins with a datagram that no report counts.
        before = delivered_before + streams
        if seen.datagrams.unseen:
            expected = before + seen.datagrams.sent - seen.datagrams.lost
            _wait_for_residual(deployment.server.host, expected)
        arrived = _delivered(deployment.server.host) - before
        # To the client's application, what its own kernel lost is sent. What the receiver's lost
        # has arrived.
        sent = seen.datagrams.sent - losses.sndbuf_errors
        received = _received(seen.datagrams, losses.rcvbuf_errors, arrived)
        doubts = losses.of_udp(deployment.client, tolerated_receiver=inf)
        return Load(rate_pps, sent, min(sent, received), seen.sent_s, "; ".join(doubts))

    def cleanup(self) -> None:
        """Stop the server of a test."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _test_parameters(self, rate_bps: int, duration_s: int) -> Mapping[str, Any]:
        own = {key: value for key, value in self.parameters.items() if key != "frame_bytes"}
        return {
            "protocol": "udp",
            "payload_bytes": self._payload_bytes,
            "rate_bps": rate_bps,
            "duration_s": duration_s,
            "omit_s": 0,
            **own,
        }


def _delivered(host: Host) -> int:
    """Packets that IP has handed to UDP, also those that no socket took or that a full buffer
    lost."""
    text = host.read_text("/proc/net/snmp")
    all_packets = protocol_counters(text, "Ip")["InDelivers"]
    others = protocol_counters(text, "Tcp")["InSegs"] + protocol_counters(text, "Icmp")["InMsgs"]
    return all_packets - others


def _wait_for_residual(host: Host, expected: int) -> None:
    """Until so many have arrived, or none has for a while, or RFC 2544's time is over."""
    started = changed = time.monotonic()
    seen = _delivered(host)
    while seen < expected and time.monotonic() < min(started + _RESIDUAL_S, changed + _QUIET_S):
        waiting.sleep(_POLL_S)
        now = _delivered(host)
        if now > seen:
            seen, changed = now, time.monotonic()


def _received(seen: UdpOutput, rcvbuf_errors: int, arrived: int) -> int:
    """Datagrams that the chain delivered. Sequence numbers tell which ones are missing before the
    last one that the server's application read. iperf3 does not read on when the time is over:
    what was sent after that one has arrived if the kernel has counted it."""
    buffer_full = min(seen.lost, rcvbuf_errors)
    unread = max(0, arrived - seen.received - rcvbuf_errors)
    return seen.received + buffer_full + min(seen.unseen, unread)
