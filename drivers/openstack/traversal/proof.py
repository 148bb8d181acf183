"""Traversal proof where the infrastructure chains by itself: marked packets are seen in each
function, going in and coming out, and at both endpoints.

Nothing of the chaining is seen from inside VMs (MPLS between switches), so that there is no SPI
and no SI to check: that each function is crossed once, by the right interfaces and in the asked
order, is proven by captures in the functions and by the TTL (`judgement`).
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.openstack.traversal.captures import Place, Post, watched
from sfcperf.drivers.openstack.traversal.captures import requirements as post_requirements
from sfcperf.drivers.openstack.traversal.evaluation import Stop, Verdict, Way, judge
from sfcperf.drivers.openstack.traversal.observations import Seen, sightings
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.management.deployment import Endpoint, ServiceFunction, TraversalProof
from sfcperf.packets.marked import MarkedPacket, Side, marked_packet, sides
from sfcperf.plugins import Requirement
from sfcperf.vnfs import binaries
from sfcperf.workflow.model import Match, Scenario

SENDER = "sfc-send"
PACKETS = 3
"""Marked packets each way."""
SETTLE_S = 20.0
"""How long a chain may take until it steers: neutron says that a chain is there before switches
have it."""
PATIENCE_S = 3.0
"""How long packets may be on their way, and their captures on the way here."""
_DOUBLES_S = 0.3
"""How much longer a second copy of a packet may take."""
_POLL_S = 0.05
_SEND_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class _Attempt:
    """Packets that were sent once, both ways."""

    ways: tuple[Way, Way]
    verdicts: tuple[Verdict, Verdict]

    @property
    def good(self) -> bool:
        return not any(verdict.problems for verdict in self.verdicts)


def requirements() -> list[Requirement]:
    """What a proof needs of this machine, from which it is carried to the hosts."""
    return [*post_requirements(), binaries.requirement(SENDER)]


def prove(
    client: Endpoint,
    server: Endpoint,
    functions: Sequence[ServiceFunction],
    macs: Mapping[str, tuple[str, ...]],
    scenario: Scenario,
    folder: Path,
    *,
    settle_s: float = SETTLE_S,
    patience_s: float = PATIENCE_S,
) -> TraversalProof:
    """Send marked packets both ways and judge where they were seen.

    `macs` has by name of the endpoint the MAC addresses of its data interface; a frame goes to
    that of the other endpoint. Packets are sent anew until all went as asked, or for `settle_s`;
    what is then told is of the last ones. `folder`, below the driver's raw folder, gets a capture
    of each place and the marks.

    Raises DeploymentError when packets cannot be sent or watched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prover = _Prover(client, server, functions, macs, scenario)
    try:
        with watched(prover.places, prover.filter, folder) as posts:
            started = time.monotonic()
            number, attempt = 1, prover.attempt(posts, patience_s)
            while not attempt.good and time.monotonic() - started < settle_s:
                number, attempt = number + 1, prover.attempt(posts, patience_s)
            after_s = time.monotonic() - started
            if attempt.good:
                time.sleep(_DOUBLES_S)
        # What is written last is read last: the captures are over now.
        attempt = prover.judged(attempt.ways, posts)
    except MeasurementError as error:
        raise DeploymentError(
            f"the traversal of the chain cannot be observed: {error.message}",
            where=error.where,
            allowed=error.allowed,
            hint=error.hint,
        ) from error
    return _proof(attempt, posts, folder, f"attempt {number}, {after_s:.1f} s after the first")


class _Prover:
    """Knows the way that packets should take, and sends them."""

    def __init__(
        self,
        client: Endpoint,
        server: Endpoint,
        functions: Sequence[ServiceFunction],
        macs: Mapping[str, tuple[str, ...]],
        scenario: Scenario,
    ) -> None:
        self._client, self._server = client, server
        self._functions = tuple(function.name for function in functions)
        self._match: Match = scenario.chain.match
        self._sides = sides(self._match, _side(client, macs), _side(server, macs))
        forward = tuple(
            Stop(function.name, function.interfaces[0], function.interfaces[-1])
            for function in functions
        )
        bypass = scenario.chain.reverse == "bypass"
        back = () if bypass else tuple(Stop(s.function, s.exit, s.entry) for s in forward[::-1])
        self._stops = (forward, back)
        self.places = [
            *(Place(e.name, e.host, (e.interface,)) for e in (client, server)),
            *(Place(f.name, f.host, f.interfaces) for f in functions),
        ]

    @property
    def filter(self) -> str:
        """By what stays as it is on the whole way: protocol and length."""
        packet = marked_packet(self._match, *self._sides)
        return f"ip proto {packet.protocol} and ip[2:2] = {packet.ip_bytes}"

    def attempt(self, posts: Sequence[Post], patience_s: float) -> _Attempt:
        """Send once each way and look until all is well, or patience is over."""
        here, there = self._sides
        there_and_back = ((self._client, here, there), (self._server, there, here))
        packets = [
            [marked_packet(self._match, source, destination) for _ in range(PACKETS)]
            for _, source, destination in there_and_back
        ]
        ways = (
            self._way(self._client, self._server, self._stops[0], packets[0]),
            self._way(self._server, self._client, self._stops[1], packets[1]),
        )
        for (endpoint, _, _), burst in zip(there_and_back, packets, strict=True):
            _send(endpoint, burst)
        deadline = time.monotonic() + patience_s
        while not (attempt := self.judged(ways, posts)).good and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return attempt

    def judged(self, ways: tuple[Way, Way], posts: Sequence[Post]) -> _Attempt:
        """What the captures say by now."""
        marks = [mark for way in ways for mark in way.marks]
        seen: dict[str, Seen] = {
            post.place.name: sightings(post.pcap, post.names, marks) for post in posts
        }
        forward, reverse = (judge(way, self._functions, seen) for way in ways)
        return _Attempt(ways, (forward, reverse))

    @staticmethod
    def _way(
        source: Endpoint,
        destination: Endpoint,
        stops: tuple[Stop, ...],
        packets: Sequence[MarkedPacket],
    ) -> Way:
        return Way(
            (source.name, source.interface),
            (destination.name, destination.interface),
            stops,
            tuple(packet.mark for packet in packets),
        )


def _side(endpoint: Endpoint, macs: Mapping[str, tuple[str, ...]]) -> Side:
    return Side(macs[endpoint.name][0], endpoint.address, 0)


def _send(endpoint: Endpoint, packets: Sequence[MarkedPacket]) -> None:
    frames = b"".join(struct.pack(">I", len(p.data)) + p.data for p in packets)
    argv = [endpoint.host.program(binaries.find(SENDER)), "--interface", endpoint.interface]
    endpoint.host.run(argv, stdin=frames, timeout_s=_SEND_TIMEOUT_S)


def _proof(attempt: _Attempt, posts: Sequence[Post], folder: Path, attempts: str) -> TraversalProof:
    forward, reverse = attempt.verdicts
    problems = [*forward.problems, *reverse.problems]
    if problems:
        problems += [flaw for post in posts if (flaw := post.flaw()) is not None]
    marks = folder / "marks.json"
    sent = {way.words: [mark.hex() for mark in way.marks] for way in attempt.ways}
    marks.write_text(json.dumps(sent, indent=2) + "\n")
    return TraversalProof(
        proven=not problems,
        method=f"capture in the functions and at both endpoints, order by TTL ({attempts})",
        sent=PACKETS,
        forward=forward.observed,
        reverse=reverse.observed,
        problems=tuple(problems),
        evidence=tuple(
            str(path.relative_to(folder.parent)) for path in (*(p.pcap for p in posts), marks)
        ),
    )
