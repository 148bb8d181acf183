"""NSH codec (RFC 8300) of all data planes: `nsh.h` in C, this in Python, both by `vectors.json`."""

from sfcperf.dataplane.nsh.header import (
    DEFAULT_TTL,
    ETHERTYPE,
    ContextHeader,
    NextProtocol,
    Nsh,
    NshError,
)
from sfcperf.dataplane.nsh.vxlan_gpe import NEXT_NSH, UDP_PORT, VxlanGpe

__all__ = [
    "DEFAULT_TTL",
    "ETHERTYPE",
    "NEXT_NSH",
    "UDP_PORT",
    "ContextHeader",
    "NextProtocol",
    "Nsh",
    "NshError",
    "VxlanGpe",
]
