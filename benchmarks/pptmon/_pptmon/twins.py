"""client === VNF a and VNF b, alike === server: the same stream goes through one or the other.

A route is changed in a millisecond, whereas starting pptmon takes the kernel's verifier a third
of a second of CPU: so pptmon runs at one of them all the time, and the stream comes and goes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from _pptmon.testbed import MTU, Testbed, ip, namespaces
from sfcperf.drivers.local.network import netlink

CLIENT, SERVER = "198.18.2.1", "198.18.2.2"
WAYS = ("a", "b")


@dataclass(frozen=True)
class Twins:
    """Two testbeds that share their endpoints, by way."""

    beds: dict[str, Testbed]
    sockets: dict[str, Any]

    def go(self, way: str) -> None:
        """Both directions by this VNF from now on."""
        for role, other, net in (("client", SERVER, 0), ("server", CLIENT, 1)):
            gateway = f"198.18.{10 * (WAYS.index(way) + 1) + net}.1"
            self.sockets[role].route("replace", dst=f"{other}/32", gateway=gateway)

    def received_bytes(self) -> int:
        """By the server's two interfaces together."""
        text = self.beds["a"].server.read_text("/proc/net/dev")
        lines = (line.partition(":") for line in text.splitlines() if ":" in line)
        return sum(int(rest.split()[0]) for name, _, rest in lines if name.strip() in WAYS)


@contextmanager
def twins() -> Iterator[Twins]:
    """Made anew, and removed at the end."""
    with namespaces("client", "server", *WAYS) as (names, hosts, folder), ExitStack() as stack:
        _build(names)
        sockets = {role: stack.enter_context(netlink(names[role])) for role in ("client", "server")}
        beds = {way: Testbed(hosts["client"], hosts[way], hosts["server"], folder) for way in WAYS}
        made = Twins(beds, sockets)
        made.go("a")
        time.sleep(0.1)
        yield made


def _build(names: dict[str, str]) -> None:
    for name in names.values():
        ip("netns", "exec", name, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
    for number, way in enumerate(WAYS, start=1):
        for net, (role, interface) in enumerate((("client", "in"), ("server", "out"))):
            name, subnet = names[role], f"198.18.{10 * number + net}"
            pair = ("link", "add", "name", way, "type", "veth", "peer", "name", interface)
            ip("-n", name, *pair, "netns", names[way])
            ip("-n", name, "addr", "add", f"{subnet}.2/24", "dev", way)
            ip("-n", names[way], "addr", "add", f"{subnet}.1/24", "dev", interface)
            ip("-n", name, "link", "set", "dev", way, "mtu", str(MTU), "up")
            ip("-n", names[way], "link", "set", interface, "up")
            address = (CLIENT, SERVER)[net]
            ip("-n", names[way], "route", "add", f"{address}/32", "via", f"{subnet}.2")
        ip("netns", "exec", names[way], "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for role, address in (("client", CLIENT), ("server", SERVER)):
        ip("-n", names[role], "addr", "add", f"{address}/32", "dev", "lo")
