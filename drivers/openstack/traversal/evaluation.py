"""Evaluation: whether marked packets took the expected path, from where they were observed.

Clocks of VMs differ, so time stamps of two of them cannot be compared. What packets carry can. A
function that gets NSH decrements the SI. A function that gets plain IP decrements the TTL. Nothing
between them does either. So a function got its packets directly from the one before it if they came
with the TTL with which that one sent them, and in NSH with the SI of the function's place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfcperf.drivers.openstack.traversal.observations import Observation, Observations
from sfcperf.management.deployment import HopObservation
from sfcperf.packets.marked import TTL

_NO_NSH = (
    "no packet reached {}, which gets NSH: does Open vSwitch of the hypervisors know NSH (2.8 or "
    'later), and the agent of networking-sfc? "encapsulation": "mpls" needs neither'
)


@dataclass(frozen=True)
class PathStep:
    """A function, and the interfaces by which packets should enter and leave it."""

    function: str
    entry: str
    exit: str
    si: int | None = None
    """SI with which packets should enter it; None: they come in plain IP."""


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

    before: Observation
    after: Observation


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
    observed.sort(key=_place, reverse=True)
    sent = len(path.marks)
    found = [f"{text} ({n} of {sent} packets {path.label})" for text, n in problems.items()]
    first = path.steps[0] if path.steps else None
    if (
        first is not None
        and first.si is not None
        and not any(observations[first.function].values())
    ):
        found.append(_NO_NSH.format(first.function))
    return PathEvaluation(tuple(observed), tuple(found))


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
    before, ttl, spi = f"the {source}", TTL, None
    for step in path.steps:
        crossing = _cross(step, observations[step.function][mark])
        if isinstance(crossing, str):
            return [*problems, crossing]
        crossed[step.function].append(crossing)
        problems += _indirect(step.function, crossing.before.ttl, ttl, before)
        problems += _misled(step, crossing, spi)
        before, ttl = step.function, crossing.after.ttl
        spi = spi or crossing.before.spi
    destination, interface = path.destination
    arrived = [
        o for o in observations[destination][mark] if not o.outgoing and o.interface == interface
    ]
    if len(arrived) != 1:
        return [
            *problems,
            f"the {destination} received the packet {len(arrived)} times instead of once",
        ]
    if arrived[0].si is not None:
        problems.append(f"the {destination} received the packet in its NSH")
    return [*problems, *_indirect(f"the {destination}", arrived[0].ttl, ttl, before)]


def _cross(step: PathStep, observations: Sequence[Observation]) -> _Crossing | str:
    """Say how the packet crossed a function, or what is wrong."""
    crossing = []
    for verb, outgoing, expected in (("entered", False, step.entry), ("left", True, step.exit)):
        found = [o for o in observations if o.outgoing == outgoing]
        if len(found) != 1:
            return f"the packet {verb} {step.function} {len(found)} times instead of once"
        if found[0].interface != expected:
            there = found[0].interface
            return f"the packet {verb} {step.function} by {there} instead of {expected}"
        crossing.append(found[0])
    return _Crossing(*crossing)


def _misled(step: PathStep, crossing: _Crossing, spi: int | None) -> list[str]:
    """Say what is wrong with the NSH, or in plain IP with the TTL, by which the order is proven.
    `spi`: that of the functions before it; None: no such function got NSH."""
    before, after = crossing.before, crossing.after
    if step.si is None:
        if before.si is not None or after.si is not None:
            return [f"{step.function} got or gave NSH instead of plain IP"]
        if after.ttl >= before.ttl:
            return [f"{step.function} does not decrement the TTL, so the order is not proven"]
        return []
    if before.si is None or after.si is None:
        return [f"{step.function} got or gave plain IP instead of NSH"]
    problems = []
    if (before.si, after.si) != (step.si, step.si - 1):
        problems.append(
            f"{step.function} got SI {before.si} and gave SI {after.si}; expected SI {step.si} and "
            f"SI {step.si - 1}"
        )
    if len({before.spi, after.spi, before.spi if spi is None else spi}) > 1:
        problems.append(
            f"{step.function} got SPI {before.spi} and gave SPI {after.spi}"
            + ("" if spi is None else f", in a chain with SPI {spi}")
        )
    return problems


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
    before, after = crossings[0].before, crossings[0].after
    return HopObservation(
        name, before.spi, before.si, after.si, len(crossings), before.ttl, after.ttl
    )


def _place(hop: HopObservation) -> tuple[int, int]:
    """Return a number that falls along the path: the TTL, and among functions with the same one the
    SI. A function in plain IP comes last among these, because it decrements the TTL."""
    return (-1 if hop.ttl is None else hop.ttl, -1 if hop.si is None else hop.si)
