"""A VNF whose function is the test itself: it gets what came in, and sends what is to go out.

    i1 [bridge] tap "in" -> the test -> tap "out" [bridge] o1

The kernel hands frames to a TAP device after tc's ingress, and takes them before tc's egress, which
a packet socket would not do.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
from pathlib import Path

from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.process import inside
from support.network.wires import RETRY_S, Lab, Port, ip, space
from support.pptmon.bench import Chain, bridge

TUN = Path("/dev/net/tun")
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


class HeldVnf:
    """Instead of the bridge of the first VNF of a chain."""

    def __init__(self, lab: Lab, chain: Chain) -> None:
        ingress, egress = chain.ports[0]
        host = chain.vnfs
        ip("-n", space(host), "link", "delete", "b1")
        self._inside, self._outside = (_tap_device(lab, host, name) for name in ("tin", "tout"))
        bridge(host, "bin", (ingress, Port(host, "tin", "")))
        bridge(host, "bout", (egress, Port(host, "tout", "")))
        for name in ("tin", "tout"):
            ip("-n", space(host), "link", "set", name, "up", "mtu", "1500")

    def take(self) -> bytes:
        """The next frame that came in."""
        assert select.select([self._inside], [], [], RETRY_S)[0], "no frame came in"
        return os.read(self._inside, 65536)

    def let_out(self, frame: bytes) -> None:
        os.write(self._outside, frame)


def _tap_device(lab: Lab, host: NamespaceHost, name: str) -> int:
    assert host.namespace is not None
    with inside(host.namespace):
        device = os.open(TUN, os.O_RDWR)
        fcntl.ioctl(
            device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI)
        )
    lab.at_end(lambda: os.close(device))
    return device
