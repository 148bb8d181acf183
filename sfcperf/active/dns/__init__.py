"""dns: rate, response time and loss of DNS queries."""

from sfcperf.active.dns.probe import Dns

__all__ = ["Dns"]
