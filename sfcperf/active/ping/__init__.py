"""ping: round-trip time, its variation and loss of ICMP echo."""

from sfcperf.active.ping.probe import Ping

__all__ = ["Ping"]
