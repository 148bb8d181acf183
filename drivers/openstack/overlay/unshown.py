"""Whether packets cross the chain as trials send them: not shown to captures, so by XDP alone.

The traversal proof sees packets that SFFs show to captures. These take another way through the SFF,
by the same tables; what its counters say is that packets that are not shown are looked up as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf import waiting
from sfcperf.drivers.openstack.traversal.proof import ARRIVAL_TIMEOUT_S, PACKETS, send_marked
from sfcperf.drivers.parallel import each
from sfcperf.drivers.sff.ebpf import EbpfSff
from sfcperf.drivers.sff.layout import Layout
from sfcperf.drivers.sff.paths import paths
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.management.deployment import Deployment, SffCounts
from sfcperf.packets.marked import Side, marked_packet, sides
from sfcperf.workflow.model import Scenario

_POLL_S = 0.1


@dataclass(frozen=True)
class _Expected:
    """What the counters of an SFF should have added up, if all packets of one direction crossed
    it."""

    node: str
    path: tuple[int, int] | None
    """SPI and SI of a lookup; None: packets that arrive for an endpoint, which are looked up no
    more."""
    way: str

    def count(self, counts: Mapping[str, SffCounts]) -> int:
        """Return the counter."""
        counted = counts[self.node]
        if self.path is None:
            return counted.bypassed
        return next((c.packets for c in counted.lookups if (c.spi, c.si) == self.path), 0)

    def problem(self, rise: int) -> str:
        """Say what a rise of the counter by less than PACKETS means."""
        what = "" if self.path is None else " with SPI {} SI {}".format(*self.path)
        return (
            f"the SFF of {self.node} counted {rise} of {PACKETS} packets {self.way}{what} without "
            "captures"
        )


def cross_unshown(
    layout: Layout, scenario: Scenario, sffs: Mapping[str, EbpfSff], made: Deployment
) -> list[str]:
    """Send marked packets both ways, and say which SFFs counted too few of them. `sffs`: by node.
    Raises DeploymentError."""
    with errors_as(DeploymentError, MeasurementError):
        before, expected = _read(sffs), _expectations(layout, scenario)
        match = scenario.chain.match
        ends = (Side(port.mac, port.address, 0) for port in (layout.client, layout.server))
        client, server = sides(match, *ends)
        for end, here, there in ((made.client, client, server), (made.server, server, client)):
            send_marked(end, [marked_packet(match, here, there) for _ in range(PACKETS)])
        deadline = time.monotonic() + ARRIVAL_TIMEOUT_S
        while True:
            after = _read(sffs)
            rises = ((one, one.count(after) - one.count(before)) for one in expected)
            problems = [one.problem(rise) for one, rise in rises if rise < PACKETS]
            if not problems or time.monotonic() > deadline:
                return problems
            waiting.sleep(_POLL_S)


def _expectations(layout: Layout, scenario: Scenario) -> list[_Expected]:
    """List the lookups on both paths, and the arrivals at both endpoints."""
    found = []
    ways = ("from client to server", "from server to client")
    ends = (layout.server.node, layout.client.node)
    for path, way, destination in zip(paths(layout, scenario), ways, ends, strict=True):
        if path is not None:
            found += [_Expected(node, (path.spi, si), way) for node, si in path.places]
        found.append(_Expected(destination, None, way))
    return found


def _read(sffs: Mapping[str, EbpfSff]) -> dict[str, SffCounts]:
    """Read the counters of all SFFs."""
    return dict(zip(sffs, each(*(sff.read for sff in sffs.values())), strict=True))
