"""A namespace with pairs of veths."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from _shared.chain import output

_numbers = itertools.count()


@contextmanager
def veths(*pairs: tuple[str, str], macs: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its name. The kernel says nothing by itself on the interfaces (no IPv6)."""
    space = f"bench-{os.getpid()}-{next(_numbers)}"
    output(["ip", "netns", "add", space])
    try:
        setting = "net.ipv6.conf.default.disable_ipv6=1"
        output(["ip", "netns", "exec", space, "sysctl", "-q", "-w", setting])
        for pair in pairs:
            one, other = pair
            output(["ip", "-n", space, "link", "add", one, "type", "veth", "peer", "name", other])
            for end in pair:
                mac = ["address", macs[end]] if macs and end in macs else []
                output(["ip", "-n", space, "link", "set", end, *mac, "up"])
        yield space
    finally:
        output(["ip", "netns", "delete", space])
