"""Evaluation: whether marked packets took the expected path, from where they were observed.

Clocks of VMs differ, so time stamps of two of them cannot be compared. The TTL can: each function
forwards by IP and decrements it, and nothing between them does. A function got its packets directly
from the one before it if they came with the TTL with which that one sent them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.drivers.openstack.traversal.observations import Observation, Observations
from sfcperf.management.deployment import HopObservation
from sfcperf.packets.marked import TTL


@dataclass(frozen=True)
class PathStep:
    """A function, and the interfaces by which packets should enter and leave it."""

    function: str
    entry: str
    exit: str


@dataclass(frozen=True)
class ExpectedPath:
    """One direction of the traffic, and the packets that were sent to prove it."""

    source: tuple[str, str]
    """Name of the endpoint, and of its interface."""
    destination: tuple[str, str]
    steps: tuple[PathStep, ...]
    """Functions in the expected order; empty if packets should bypass the functions."""
    marks: tuple[bytes, ...]

    @property
    def label(self) -> str:
        """The direction in words: `from client to server`."""
        return f"from {self.source[0]} to {self.destination[0]}"


@dataclass(frozen=True)
class PathEvaluation:
    """What was observed of one direction."""

    observed: tuple[HopObservation, ...]
    """Functions in the order in which packets crossed them."""
    problems: tuple[str, ...]
    """What contradicts the expected path; empty if packets took it."""


@dataclass(frozen=True)
class _Crossing:
    """How a packet crossed a function that it entered once and left once."""

    ttl: int
    ttl_after: int


def evaluate(
    path: ExpectedPath, functions: Sequence[str], observations: Mapping[str, Observations]
) -> PathEvaluation:
    """Compare what was observed of one direction with its expected path. `functions`: all of the
    chain; `observations`: by instance, those of endpoints too."""
    problems: Counter[str] = Counter()
    crossed: dict[str, list[_Crossing]] = {step.function: [] for step in path.steps}
    bypassed = [name for name in functions if name not in crossed]
    for mark in path.marks:
        problems.update(_follow(path, mark, observations, crossed))
        problems.update(
            f"{name} was crossed by a packet that should bypass the chain"
            for name in bypassed
            if observations[name][mark]
        )
    observed = [_hop(name, crossings) for name, crossings in crossed.items()]
    # By falling TTL, the order in which they were crossed; those that were not crossed come last.
    observed.sort(key=lambda hop: -1 if hop.ttl is None else hop.ttl, reverse=True)
    sent = len(path.marks)
    return PathEvaluation(
        tuple(observed),
        tuple(f"{text} ({n} of {sent} packets {path.label})" for text, n in problems.items()),
    )


def _follow(
    path: ExpectedPath,
    mark: bytes,
    observations: Mapping[str, Observations],
    crossed: Mapping[str, list[_Crossing]],
) -> list[str]:
    """Return the problems of one packet, and add its crossings to `crossed`."""
    source, interface = path.source
    sent = [o for o in observations[source][mark] if o.outgoing and o.interface == interface]
    if len(sent) != 1:
        return [f"the {source} sent the packet {len(sent)} times instead of once"]
    problems: list[str] = []
    before, ttl = f"the {source}", TTL
    for step in path.steps:
        crossing = _cross(step, observations[step.function][mark])
        if isinstance(crossing, str):
            return [*problems, crossing]
        crossed[step.function].append(crossing)
        problems += _indirect(step.function, crossing.ttl, ttl, before)
        if crossing.ttl_after >= crossing.ttl:
            problems.append(
                f"{step.function} does not decrement the TTL, so the order is not proven"
            )
        before, ttl = step.function, crossing.ttl_after
    destination, interface = path.destination
    arrived = [
        o for o in observations[destination][mark] if not o.outgoing and o.interface == interface
    ]
    if len(arrived) != 1:
        return [
            *problems,
            f"the {destination} received the packet {len(arrived)} times instead of once",
        ]
    return [*problems, *_indirect(f"the {destination}", arrived[0].ttl, ttl, before)]


def _cross(step: PathStep, observations: Sequence[Observation]) -> _Crossing | str:
    """Say how the packet crossed a function, or what is wrong."""
    ttls = []
    for verb, outgoing, expected in (("entered", False, step.entry), ("left", True, step.exit)):
        found = [o for o in observations if o.outgoing == outgoing]
        if len(found) != 1:
            return f"the packet {verb} {step.function} {len(found)} times instead of once"
        if found[0].interface != expected:
            there = found[0].interface
            return f"the packet {verb} {step.function} by {there} instead of {expected}"
        ttls.append(found[0].ttl)
    return _Crossing(*ttls)


def _indirect(receiver: str, ttl: int, expected: int, before: str) -> list[str]:
    """Return a problem if a packet reached `receiver` with another TTL than `expected`, with which
    it left `before`: then it did not come from there directly. Empty if it did."""
    if ttl == expected:
        return []
    return [
        f"{receiver} received it with TTL {ttl}, not {expected}: "
        f"it did not come directly from {before}"
    ]


def _hop(name: str, crossings: Sequence[_Crossing]) -> HopObservation:
    """Return what was observed at one function, with the TTLs of the first packet."""
    if not crossings:
        return HopObservation(name, None, None, None, 0)
    first = crossings[0]
    return HopObservation(name, None, None, None, len(crossings), first.ttl, first.ttl_after)
