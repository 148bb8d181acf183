"""NSH codec (RFC 8300) that all data planes share: `nsh.h` in C, this package in Python.

Both are held to the golden vectors in `vectors.json`.
"""

from sfcperf.vnfs.nsh.errors import NshError
from sfcperf.vnfs.nsh.header import (
    DEFAULT_TTL,
    ETHERTYPE,
    ContextHeader,
    NextProtocol,
    Nsh,
)
from sfcperf.vnfs.nsh.vxlan_gpe import UDP_PORT, VxlanGpe

__all__ = [
    "DEFAULT_TTL",
    "ETHERTYPE",
    "UDP_PORT",
    "ContextHeader",
    "NextProtocol",
    "Nsh",
    "NshError",
    "VxlanGpe",
]
