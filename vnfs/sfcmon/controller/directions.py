"""Directions of paths: each path, and its reverse path if it has one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfcperf.vnfs.sfcmon.controller.model import Attachment, Function, Path, State


@dataclass(frozen=True)
class Hop:
    """A function on the way of a direction."""

    name: str
    function: Function
    si: int
    """SI with which packets reach the function; they leave it with one less."""
    entry: Attachment
    exit: Attachment


@dataclass(frozen=True)
class Direction:
    """A path or its reverse path, with the switches that its packets pass."""

    spi: int
    path: int
    """SPI of the path as a resource; for a reverse path that is not `spi`."""
    source: str
    """Name of the endpoint where packets enter."""
    source_switch: str
    hops: tuple[Hop, ...]
    destination: str
    destination_switch: str

    @property
    def switch_pairs(self) -> list[tuple[str, str]]:
        """Pairs of switches, from which to which, for each step from source to destination. Most
        pairs name one switch twice."""
        hops = [hop.function.switch for hop in self.hops]
        return list(zip([self.source_switch, *hops], [*hops, self.destination_switch], strict=True))

    @property
    def lookups(self) -> int:
        """How often SFFs look up a packet: once for each function, once more for one at another
        switch, and once for the end."""
        return len(self.hops) + 1 + sum(here != there for here, there in self.switch_pairs[:-1])

    @property
    def final_si(self) -> int:
        """SI with which packets leave the last function."""
        return self.hops[-1].si - 1


def directions(state: State) -> Iterator[Direction]:
    """Yield the directions of all paths. The references of the state must be right."""
    for spi, path in state.paths.items():
        yield _direction(state, spi, path, reverse=False)
        if path.reverse_spi is not None:
            yield _direction(state, spi, path, reverse=True)


def _direction(state: State, spi: int, path: Path, *, reverse: bool) -> Direction:
    names = path.hops[::-1] if reverse else path.hops
    source, destination = path.source, path.destination
    if reverse:
        source, destination = destination, source
    return Direction(
        spi=path.reverse_spi if reverse and path.reverse_spi is not None else spi,
        path=spi,
        source=source,
        source_switch=state.endpoints[source].switch,
        hops=tuple(
            _hop(name, state.functions[name], path.initial_si - place, reverse=reverse)
            for place, name in enumerate(names)
        ),
        destination=destination,
        destination_switch=state.endpoints[destination].switch,
    )


def _hop(name: str, function: Function, si: int, *, reverse: bool) -> Hop:
    ends = (function.ingress, function.egress or function.ingress)
    entry, leave = ends[::-1] if reverse else ends
    return Hop(name, function, si, entry, leave)
