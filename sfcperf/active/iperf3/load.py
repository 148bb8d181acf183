"""Loads of UDP datagrams by iperf3, for a search of the throughput."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from pathlib import Path
from typing import Any

from sfcperf.active.iperf3.output import UdpOutput
from sfcperf.active.iperf3.residual import Arrivals
from sfcperf.active.iperf3.test import SOCKET_BUFFER_LIMITS, USUAL_PORT, Iperf3Test
from sfcperf.active.load import Load, LoadGenerator
from sfcperf.active.mtu import ETHERNET_BYTES, IPV4_HEADER_BYTES, UDP_HEADER_BYTES, check_frame
from sfcperf.active.server import free_port
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, object_schema

_BITS_PER_BYTE = 8
_OVERHEAD_BYTES = ETHERNET_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES


class Iperf3Load(LoadGenerator):
    """Offers loads of UDP datagrams; each load is a test of iperf3 of whole seconds. iperf3 sends
    what is due once in a millisecond: above 1,000 packets per second, datagrams leave in small
    bursts."""

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
    """Port of the server, after `prepare`."""
    _payload_bytes: int
    """Payload of a datagram, after `prepare`."""
    _server: Process | None = None
    """Server of the current test."""

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
        """Run iperf3 with UDP for `duration_s`, rounded up to whole seconds. Raises
        MeasurementError when no datagram gets through."""
        streams = self.parameters["streams"]
        # At least 1 bit/s for each stream, because iperf3 takes 0 for no limit.
        rate_bps = max(streams, round(rate_pps * self._payload_bytes * _BITS_PER_BYTE))
        test = Iperf3Test(self._test_parameters(rate_bps, ceil(duration_s)), self._port)
        arrivals = Arrivals(deployment.server.host, streams)
        self._server = test.serve(deployment, raw_dir)
        try:
            output, losses = test.run(deployment, raw_dir)
        finally:
            self.cleanup()
        if output.datagrams is None:
            raise MeasurementError("iperf3 reports a test of TCP")
        unread = arrivals.unread(output.datagrams, losses.rcvbuf_errors)
        # iperf3 counts as sent also what the client's kernel dropped, which never left the client.
        # Datagrams that the server's kernel dropped had crossed the chain.
        sent = output.datagrams.sent - losses.sndbuf_errors
        received = _received(output.datagrams, losses.rcvbuf_errors, unread)
        doubts = losses.of_udp(deployment.client, tolerated_receiver=inf)
        return Load(rate_pps, sent, min(sent, received), output.sent_s, "; ".join(doubts))

    def cleanup(self) -> None:
        """Stop the server of the current test, if there is one. `offer` calls it at the end of each
        test."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _test_parameters(self, rate_bps: int, duration_s: int) -> Mapping[str, Any]:
        """Return the parameters of an Iperf3Test that offers one load."""
        own = {key: value for key, value in self.parameters.items() if key != "frame_bytes"}
        return {
            "protocol": "udp",
            "payload_bytes": self._payload_bytes,
            "rate_bps": rate_bps,
            "duration_s": duration_s,
            "omit_s": 0,
            **own,
        }


def _received(output: UdpOutput, rcvbuf_errors: int, unread: int) -> int:
    """Return the number of datagrams that the chain delivered: those that iperf3 read, and two
    kinds that it did not read. The server's socket buffer dropped `rcvbuf_errors`; iperf3 counts
    these as lost, so no more of them are added than it counts. `unread` datagrams came after the
    last one that iperf3 read."""
    return output.received + min(output.lost, rcvbuf_errors) + unread
