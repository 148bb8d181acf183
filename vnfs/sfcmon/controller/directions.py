"""Both directions of paths: a path, and its reverse path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfcperf.vnfs.sfcmon.controller.model import Attachment, Function, Path, State


@dataclass(frozen=True)
class Hop:
    """A function that packets of a direction cross."""

    name: str
    function: Function
    si: int
    """SI with which packets reach it; they leave it with one less."""
    entry: Attachment
    """Where packets of the direction reach it."""
    exit: Attachment
    """Where they leave it."""


@dataclass(frozen=True)
class Direction:
    """A path or a reverse path."""

    spi: int
    """SPI of its packets."""
    path: int
    """SPI of the resource that it is made from. A reverse path has another SPI than this."""
    source: str
    """Name of the endpoint where it begins."""
    source_switch: str
    hops: tuple[Hop, ...]
    destination: str
    destination_switch: str

    @property
    def switch_pairs(self) -> list[tuple[str, str]]:
        """Switch where each step of the path begins, and switch where it ends, from source to
        destination. In most steps the two are one switch."""
        hops = [hop.function.switch for hop in self.hops]
        return list(zip([self.source_switch, *hops], [*hops, self.destination_switch], strict=True))

    @property
    def lookups(self) -> int:
        """How often SFFs look up a packet: once for each function, once more for a function at
        another switch than the step before, and once for the end."""
        # The last pair leads to the destination, which is no function.
        return len(self.hops) + 1 + sum(here != there for here, there in self.switch_pairs[:-1])

    @property
    def final_si(self) -> int:
        """SI with which packets leave the last function."""
        return self.hops[-1].si - 1


def directions(state: State) -> Iterator[Direction]:
    """Yield the directions of all paths. What paths refer to must be in the state."""
    for spi, path in state.paths.items():
        yield _direction(state, spi, path, reverse=False)
        if path.reverse_spi is not None:
            yield _direction(state, spi, path, reverse=True)


def _direction(state: State, spi: int, path: Path, *, reverse: bool) -> Direction:
    """Return a path or, with `reverse`, its reverse path, which crosses the functions in the
    opposite order."""
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
    """Return a function on a direction. Packets of a reverse path enter it where the others
    leave."""
    ends = (function.ingress, function.egress or function.ingress)
    entry, leave = ends[::-1] if reverse else ends
    return Hop(name, function, si, entry, leave)
