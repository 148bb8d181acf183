"""SFPs: the forward and the reverse service function path as lists of hops (RFC 7665, 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sfcperf.drivers.sff.layout import FunctionLayout, Layout, Port
from sfcperf.workflow.model import Scenario

REVERSE_SPI_BIT = 1 << 23
"""This bit is set in the SPI of a reverse path, as OpenDaylight's SFC does."""
MOST_LOOKUPS = 62
"""Lookups by SFFs on a path: the NSH's TTL starts at 63 and may not reach 0 (RFC 8300, 2.2)."""


@dataclass(frozen=True)
class PathHop:
    """An SF on a path, and the ports by which packets of this path enter and leave it."""

    function: FunctionLayout
    si: int
    """SI with which packets reach it; they leave with one less."""
    entry: Port
    exit: Port
    destination: Port
    """The endpoint at the end of the path."""

    @property
    def mac(self) -> str:
        """MAC address to which frames for the SF are addressed: that of its interface or, if the SF
        leaves frames as they are, that of the endpoint for which they are."""
        return (self.destination if self.function.is_inline else self.entry).mac


@dataclass(frozen=True)
class Path:
    """One direction of the chain: a service function path."""

    spi: int
    source: Port
    destination: Port
    hops: tuple[PathHop, ...]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Node and SI of each lookup of a packet; each lookup decrements the TTL. Packets are
        looked up where they come from and, if the next SF is on another node, by the SFF of that
        node again, and at last at the end of the path."""
        before, found = self.source.node, []
        for hop in self.hops:
            found += [(node, hop.si) for node in dict.fromkeys((before, hop.entry.node))]
            before = hop.exit.node
        return [*found, (before, self.final_si)]

    @property
    def final_si(self) -> int:
        """SI with which packets leave the last SF."""
        return self.hops[-1].si - 1


def paths(layout: Layout, scenario: Scenario) -> tuple[Path | None, Path | None]:
    """Return forward and reverse path. The reverse one is None if replies bypass the chain; both
    are without functions."""
    if not layout.functions:
        return None, None
    chain = scenario.chain
    numbers = range(chain.initial_si, 0, -1)
    there = zip(layout.functions, numbers, strict=False)
    hops = tuple(PathHop(f, si, f.ingress, f.egress, layout.server) for f, si in there)
    forward = Path(chain.spi, layout.client, layout.server, hops)
    if chain.reverse == "bypass":
        return forward, None
    back = zip(reversed(layout.functions), numbers, strict=False)
    hops = tuple(PathHop(f, si, f.egress, f.ingress, layout.client) for f, si in back)
    return forward, Path(chain.spi | REVERSE_SPI_BIT, layout.server, layout.client, hops)


def ways(layout: Layout, scenario: Scenario) -> dict[tuple[int, int], dict[str, Any]]:
    """(SPI, SI) -> where packets with them come from and go to, as the fields `direction`,
    `came_from` and `towards` of LookupCounts (sfcperf.management.deployment)."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    directions = ("forward", "reverse")
    for path, direction in zip(paths(layout, scenario), directions, strict=True):
        if path is None:
            continue
        instances = [
            path.source.instance,
            *(hop.function.spec.name for hop in path.hops),
            path.destination.instance,
        ]
        for step, (here, there) in enumerate(pairwise(instances)):
            way = {"direction": direction, "came_from": here, "towards": there}
            found[path.spi, path.hops[0].si - step] = way
    return found
