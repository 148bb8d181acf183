"""The kernel's IPv4 statistics of a host (/proc/net/snmp, names of RFC 4293)."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

SOURCE = "/proc/net/snmp"

DROPS = {
    "header": "InHdrErrors",
    "address": "InAddrErrors",
    "no_route": "OutNoRoutes",
    "in_discard": "InDiscards",
    "out_discard": "OutDiscards",
    "fragmentation": "FragFails",
}
"""Why a packet was not forwarded -> field."""


def read(host: Host) -> dict[str, int]:
    """Field -> packets since the network namespace was made. Raises MeasurementError."""
    lines = [line.split() for line in host.read_text(SOURCE).splitlines()]
    ip_lines = [words[1:] for words in lines if words and words[0] == "Ip:"]
    if len(ip_lines) != 2:
        raise MeasurementError("there are no IP statistics", where=f"{host.name}:{SOURCE}")
    names, values = ip_lines
    return {name: int(value) for name, value in zip(names, values, strict=True)}
