"""Counts the datagrams that reach the server, but that iperf3 does not read any more."""

from __future__ import annotations

import time

from sfcperf import waiting
from sfcperf.active.iperf3.output import UdpOutput
from sfcperf.hosts.base import Host
from sfcperf.hosts.procfs import protocol_counters

_RESIDUAL_S = 2.0
"""Longest wait for packets that are still on their way (RFC 2544, section 23)."""
_QUIET_S = 0.5
"""Time without an arrival after which the wait ends early: packets that are still missing are
lost."""
_POLL_S = 0.02


class Arrivals:
    """Counts the datagrams that the server's kernel receives after the object is made.

    iperf3 stops reading when the time is over, so its report does not say what became of the last
    datagrams. On a busy host there are many of them. The kernel has counted them.
    """

    def __init__(self, host: Host, streams: int) -> None:
        """Remember how many datagrams the kernel has received before. `streams` is the number of
        flows of the test."""
        self._host = host
        # Each flow begins with a datagram that no report counts.
        self._before = _delivered(host) + streams

    def unread(self, output: UdpOutput, rcvbuf_errors: int) -> int:
        """Wait for the last datagrams, and return how many came after the last one that iperf3
        read. `rcvbuf_errors` are datagrams that a full socket buffer of the server lost. The kernel
        has counted them as arrived too, so they are subtracted."""
        if not output.unseen:
            return 0
        read = self._before + output.omitted + output.received
        _wait(self._host, read + output.unseen)
        return min(output.unseen, max(0, _delivered(self._host) - read - rcvbuf_errors))


def _delivered(host: Host) -> int:
    """Return how many packets IP has handed to UDP so far: all packets that IP delivered, less
    those of TCP and ICMP. Packets that no socket took or that a full buffer lost are included."""
    text = host.read_text("/proc/net/snmp")
    all_packets = protocol_counters(text, "Ip")["InDelivers"]
    others = protocol_counters(text, "Tcp")["InSegs"] + protocol_counters(text, "Icmp")["InMsgs"]
    return all_packets - others


def _wait(host: Host, expected: int) -> None:
    """Wait until the count of delivered packets is `expected`, or none has arrived for _QUIET_S, or
    _RESIDUAL_S is over."""
    started = changed = time.monotonic()
    delivered = _delivered(host)
    while delivered < expected and time.monotonic() < min(
        started + _RESIDUAL_S, changed + _QUIET_S
    ):
        waiting.sleep(_POLL_S)
        now = _delivered(host)
        if now > delivered:
            delivered, changed = now, time.monotonic()
