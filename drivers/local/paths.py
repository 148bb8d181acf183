"""SFPs: the forward and the reverse service function path as lists of hops (RFC 7665, 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.drivers.local.layout import FunctionLayout, Layout, Port
from sfcperf.workflow.model import Scenario

REVERSE_SPI_BIT = 1 << 23
"""Set in the SPI of a reverse path, as OpenDaylight's SFC does."""


@dataclass(frozen=True)
class PathHop:
    """An SF on a path."""

    function: FunctionLayout
    si: int
    """SI with which packets reach it; they leave with one less."""
    entry: Port
    exit: Port


@dataclass(frozen=True)
class Path:
    """One direction of the chain."""

    spi: int
    source: Port
    destination: Port
    hops: tuple[PathHop, ...]

    @property
    def lookups(self) -> int:
        """Lookups by SFFs, each of which decrements the TTL: two if the next SF is on another
        node."""
        nodes = [self.source.node, *(hop.exit.node for hop in self.hops)]
        moves = sum(here != hop.entry.node for here, hop in zip(nodes, self.hops, strict=False))
        return len(self.hops) + moves + 1

    @property
    def final_si(self) -> int:
        """SI with which packets leave the last SF."""
        return self.hops[-1].si - 1


def paths(layout: Layout, scenario: Scenario) -> tuple[Path | None, Path | None]:
    """Forward and reverse path; None where packets bypass the chain."""
    if not layout.functions:
        return None, None
    chain = scenario.chain
    forward = Path(
        chain.spi,
        layout.client,
        layout.server,
        tuple(
            PathHop(function, chain.initial_si - number, function.ingress, function.egress)
            for number, function in enumerate(layout.functions)
        ),
    )
    if chain.reverse == "bypass":
        return forward, None
    reverse = Path(
        chain.spi | REVERSE_SPI_BIT,
        layout.server,
        layout.client,
        tuple(
            PathHop(function, chain.initial_si - number, function.egress, function.ingress)
            for number, function in enumerate(reversed(layout.functions))
        ),
    )
    return forward, reverse
