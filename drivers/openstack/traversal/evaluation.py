"""Judgement: whether marked packets crossed the functions as asked, from where they were seen.

Clocks of VMs differ, so that time stamps of two of them say nothing of what was first. The TTL
does: each function forwards by IP and lowers it, nothing between them does. So a function got its
packets from the one before it, and from nobody else, when they came with the TTL with which that
one let them go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.drivers.openstack.traversal.observations import Seen, Sighting
from sfcperf.management.deployment import HopObservation
from sfcperf.packets.marked import TTL


@dataclass(frozen=True)
class Stop:
    """A function on the way, and the interfaces by which it is to be crossed."""

    function: str
    entry: str
    exit: str


@dataclass(frozen=True)
class Way:
    """One direction of the traffic, and the packets that were sent to prove it."""

    source: tuple[str, str]
    """Endpoint and its interface."""
    destination: tuple[str, str]
    stops: tuple[Stop, ...]
    """Functions in the asked order; none where packets should bypass them."""
    marks: tuple[bytes, ...]

    @property
    def words(self) -> str:
        """`from client to server`."""
        return f"from {self.source[0]} to {self.destination[0]}"


@dataclass(frozen=True)
class Verdict:
    """What was seen of one direction."""

    observed: tuple[HopObservation, ...]
    """In the order in which packets crossed."""
    problems: tuple[str, ...]
    """What contradicts the asked way; empty when it was taken."""


@dataclass(frozen=True)
class _Crossing:
    """How a packet crossed a function that it entered once and left once."""

    ttl: int
    ttl_after: int


def judge(way: Way, functions: Sequence[str], seen: Mapping[str, Seen]) -> Verdict:
    """`functions` are all of the chain, `seen` is by instance: endpoints and functions."""
    complaints: Counter[str] = Counter()
    crossed: dict[str, list[_Crossing]] = {stop.function: [] for stop in way.stops}
    for mark in way.marks:
        complaints.update(_follow(way, mark, seen, crossed))
        complaints.update(_strays(way, functions, mark, seen))
    observed = [_observation(name, crossings) for name, crossings in crossed.items()]
    observed.sort(key=lambda hop: -1 if hop.ttl is None else hop.ttl, reverse=True)
    number = len(way.marks)
    return Verdict(
        tuple(observed),
        tuple(f"{text} ({n} of {number} packets {way.words})" for text, n in complaints.items()),
    )


def _follow(
    way: Way, mark: bytes, seen: Mapping[str, Seen], crossed: Mapping[str, list[_Crossing]]
) -> list[str]:
    """Complaints about one packet, along its way."""
    source, interface = way.source
    left = [s for s in seen[source][mark] if s.outgoing and s.interface == interface]
    if len(left) != 1:
        return [f"the {source} sent the packet {_times(len(left))}"]
    complaints: list[str] = []
    before, ttl = f"the {source}", TTL
    for stop in way.stops:
        found = _cross(stop, seen[stop.function][mark])
        if isinstance(found, str):
            return [*complaints, found]
        crossed[stop.function].append(found)
        if found.ttl != ttl:
            complaints.append(_not_directly(stop.function, "got it", found.ttl, ttl, before))
        if found.ttl_after >= found.ttl:
            complaints.append(f"{stop.function} does not lower the TTL, by which the order is told")
        before, ttl = stop.function, found.ttl_after
    return [*complaints, *_arrive(way, mark, seen, before, ttl)]


def _cross(stop: Stop, seen: Sequence[Sighting]) -> _Crossing | str:
    """How a function was crossed, or in words what is wrong."""
    entries = [s for s in seen if not s.outgoing]
    exits = [s for s in seen if s.outgoing]
    if len(entries) != 1:
        return f"{stop.function} was entered {_times(len(entries))}"
    if entries[0].interface != stop.entry:
        return f"{stop.function} was entered by {entries[0].interface} instead of {stop.entry}"
    if len(exits) != 1:
        return f"{stop.function} was left {_times(len(exits))}"
    if exits[0].interface != stop.exit:
        return f"{stop.function} was left by {exits[0].interface} instead of {stop.exit}"
    return _Crossing(entries[0].ttl, exits[0].ttl)


def _arrive(way: Way, mark: bytes, seen: Mapping[str, Seen], before: str, ttl: int) -> list[str]:
    destination, interface = way.destination
    arrived = [s for s in seen[destination][mark] if not s.outgoing and s.interface == interface]
    if len(arrived) != 1:
        return [f"the {destination} got the packet {_times(len(arrived))}"]
    if arrived[0].ttl != ttl:
        return [_not_directly(f"the {destination}", "got it", arrived[0].ttl, ttl, before)]
    return []


def _strays(way: Way, functions: Sequence[str], mark: bytes, seen: Mapping[str, Seen]) -> list[str]:
    wanted = {stop.function for stop in way.stops}
    return [
        f"{name} was crossed by a packet that should bypass the chain"
        for name in functions
        if name not in wanted and seen[name][mark]
    ]


def _not_directly(who: str, got: str, ttl: int, due: int, before: str) -> str:
    return f"{who} {got} with TTL {ttl}, not {due}: it did not come directly from {before}"


def _times(number: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _observation(name: str, crossings: Sequence[_Crossing]) -> HopObservation:
    if not crossings:
        return HopObservation(name, None, None, None, 0)
    first = crossings[0]
    return HopObservation(name, None, None, None, len(crossings), first.ttl, first.ttl_after)
