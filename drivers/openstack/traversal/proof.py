"""Traversal proof if the infrastructure makes the chain: marked packets are captured in each
function, going in and coming out, and at both endpoints.

VMs see nothing of the chaining between switches. Captures in the functions' VMs, with the SI of NSH
and the TTL of plain IP (`evaluation`), prove that packets crossed each function once, by the right
interfaces and in the right order.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sfcperf import retry, waiting
from sfcperf.dataplane import binaries
from sfcperf.dataplane.nsh import ETHERTYPE as NSH
from sfcperf.drivers import data_planes
from sfcperf.drivers.data_planes import DataPlanes
from sfcperf.drivers.openstack.traversal import captures
from sfcperf.drivers.openstack.traversal.captures import Capture, CapturePoint, capturing
from sfcperf.drivers.openstack.traversal.evaluation import (
    ExpectedPath,
    PathEvaluation,
    PathStep,
    evaluate,
)
from sfcperf.drivers.openstack.traversal.observations import Observations, observe
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.management.deployment import Endpoint, ServiceFunction, TraversalProof
from sfcperf.packets.marked import MarkedPacket, Side, marked_packet, sides
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Match, Scenario

SENDER = "sfc-send"
PACKETS = 3
"""Marked packets each way."""
SETTLE_S = 20.0
"""How long a chain may take until it steers: neutron reports a chain before switches have it."""
ARRIVAL_TIMEOUT_S = 3.0
"""Time for packets to arrive, and for captures to show them."""
_DUPLICATES_S = 0.3
"""How much longer a second copy of a packet may take."""
_POLL_S = 0.05
_SEND_TIMEOUT_S = 30.0
_NO_PORTS: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class _Attempt:
    """Packets that were sent once, both ways."""

    paths: tuple[ExpectedPath, ExpectedPath]
    evaluations: tuple[PathEvaluation, PathEvaluation]

    @property
    def good(self) -> bool:
        """Whether all packets took the expected path, both ways."""
        return not any(evaluation.problems for evaluation in self.evaluations)


def requirements() -> list[Requirement]:
    """Require what a proof needs on this machine, which copies it to the hosts."""
    return [*captures.requirements(), binaries.requirement(SENDER)]


def prove(
    client: Endpoint,
    server: Endpoint,
    functions: Sequence[ServiceFunction],
    macs: Mapping[str, str],
    scenario: Scenario,
    folder: Path,
    *,
    sff_ports: Mapping[str, tuple[str, ...]] = _NO_PORTS,
    settle_s: float = SETTLE_S,
    arrival_timeout_s: float = ARRIVAL_TIMEOUT_S,
) -> TraversalProof:
    """Send marked packets both ways and evaluate where they were captured.

    `macs`: name of the endpoint -> MAC address of its data interface. `sff_ports`: name of a
    function -> the SFF's ends of its attachments, if the SFF is on its host: packets are captured
    there, because the function's own interfaces do not show them if it forwards by XDP. Packets are
    sent again until all took the expected path, or for `settle_s`; the proof is about the last
    ones. `folder`, below the driver's raw folder, gets a capture of each point and the marks.

    Raises DeploymentError if packets cannot be sent or captured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prover = _Prover((client, server), functions, macs, scenario, sff_ports)
    checked = DataPlanes({}, ())
    failed = "the traversal of the chain cannot be observed"
    with errors_as(DeploymentError, MeasurementError, context=failed):
        with capturing(prover.points, prover.filter, folder) as running:
            started = time.monotonic()
            number, attempt = 1, prover.attempt(running, arrival_timeout_s)
            while not attempt.good and time.monotonic() - started < settle_s:
                number, attempt = number + 1, prover.attempt(running, arrival_timeout_s)
            after_s = time.monotonic() - started
            if attempt.good:
                waiting.sleep(_DUPLICATES_S)
                cross = partial(prover.cross, running)
                checked = data_planes.prove(functions, cross)
        # Only now, when tcpdump has ended, are the captures complete.
        attempt = prover.evaluated(attempt.paths, running)
    return _proof(
        attempt,
        checked,
        running,
        folder,
        f"attempt {number}, which ended {after_s:.1f} s after the first began",
    )


class _Prover:
    """Sends packets, and knows the path that they should take."""

    def __init__(
        self,
        ends: tuple[Endpoint, Endpoint],
        functions: Sequence[ServiceFunction],
        macs: Mapping[str, str],
        scenario: Scenario,
        sff_ports: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._ends = ends
        self._functions = tuple(function.name for function in functions)
        self._match: Match = scenario.chain.match
        here, there = (Side(macs[end.name], end.address, 0) for end in self._ends)
        self._sides = sides(self._match, here, there)
        first_si = scenario.chain.initial_si
        seen = [
            CapturePoint(f.name, f.host, ports or f.interfaces, at_sff=bool(ports))
            for f in functions
            for ports in (sff_ports.get(f.name, ()),)
        ]
        crossed = list(zip(functions, seen, strict=True))
        forward = tuple(_step(first_si - n, *there) for n, there in enumerate(crossed))
        back = tuple(
            _step(first_si - n, *there, back=True) for n, there in enumerate(crossed[::-1])
        )
        self._steps = (forward, () if scenario.chain.reverse == "bypass" else back)
        self.points = [
            *(CapturePoint(end.name, end.host, (end.interface,)) for end in self._ends),
            *seen,
        ]

    @property
    def filter(self) -> str:
        """Filter for the marked packets, by what stays the same on the whole path: protocol and
        length; and for all packets in NSH."""
        packet = marked_packet(self._match, *self._sides)
        plain = f"ip proto {packet.protocol} and ip[2:2] = {packet.ip_bytes}"
        return f"({plain}) or ether proto {NSH:#x}"

    def attempt(self, running: Sequence[Capture], timeout_s: float) -> _Attempt:
        """Send once each way and look until all packets took the expected path, or time is over."""
        (client, server), (here, there) = self._ends, self._sides
        forward = [marked_packet(self._match, here, there) for _ in range(PACKETS)]
        reverse = [marked_packet(self._match, there, here) for _ in range(PACKETS)]
        paths = (
            _expected(client, server, self._steps[0], forward),
            _expected(server, client, self._steps[1], reverse),
        )
        send_marked(client, forward)
        send_marked(server, reverse)
        deadline = time.monotonic() + timeout_s
        while not (attempt := self.evaluated(paths, running)).good and time.monotonic() < deadline:
            waiting.sleep(_POLL_S)
        return attempt

    def cross(self, running: Sequence[Capture], timeout_s: float) -> int:
        """Send marked packets from client to server, and return how many the server received within
        this time; at once when all have arrived (data_planes.Cross)."""
        packets = [marked_packet(self._match, *self._sides) for _ in range(PACKETS)]
        marks = [packet.mark for packet in packets]
        server = self._ends[1].name
        capture = next(capture for capture in running if capture.point.name == server)
        send_marked(self._ends[0], packets)

        def arrived() -> int:
            seen = observe(capture.pcap, capture.names, marks)
            return sum(any(not each.outgoing for each in found) for found in seen.values())

        retry.until(lambda: arrived() == PACKETS, timeout_s=timeout_s, period_s=_POLL_S)
        return arrived()

    def evaluated(
        self, paths: tuple[ExpectedPath, ExpectedPath], running: Sequence[Capture]
    ) -> _Attempt:
        """Evaluate what the captures show by now."""
        marks = [mark for path in paths for mark in path.marks]
        observations: dict[str, Observations] = {
            capture.point.name: observe(
                capture.pcap, capture.names, marks, at_sff=capture.point.at_sff
            )
            for capture in running
        }
        forward, reverse = (evaluate(path, self._functions, observations) for path in paths)
        return _Attempt(paths, (forward, reverse))


def _step(
    si: int, function: ServiceFunction, seen: CapturePoint, *, back: bool = False
) -> PathStep:
    """Return the step of a function on a path. `si`: that of its place; functions are numbered
    downwards in both directions, those in plain IP too. `seen`: where it is captured."""
    entry, exit_ = seen.interfaces[0], seen.interfaces[-1]
    if back:
        entry, exit_ = exit_, entry
    return PathStep(function.name, entry, exit_, si if function.nsh_aware else None)


def _expected(
    source: Endpoint,
    destination: Endpoint,
    steps: tuple[PathStep, ...],
    packets: Sequence[MarkedPacket],
) -> ExpectedPath:
    """Return the path that these packets should take. `steps`: empty if they bypass the chain."""
    return ExpectedPath(
        (source.name, source.interface),
        (destination.name, destination.interface),
        steps,
        tuple(packet.mark for packet in packets),
    )


def send_marked(endpoint: Endpoint, packets: Sequence[MarkedPacket]) -> None:
    """Send frames from an endpoint by sfc-send, which reads each one with its length in front."""
    frames = b"".join(struct.pack(">I", len(p.data)) + p.data for p in packets)
    argv = [endpoint.host.program(binaries.find(SENDER)), "--interface", endpoint.interface]
    endpoint.host.run(argv, stdin=frames, timeout_s=_SEND_TIMEOUT_S)


def _proof(
    attempt: _Attempt, checked: DataPlanes, ended: Sequence[Capture], folder: Path, when: str
) -> TraversalProof:
    """Make the proof of the last attempt and of the data planes, and write the marks of the attempt
    beside the captures. `when` says, for `method`, which attempt it was and how long it took.

    What a capture missed is a problem only if the path was not proven: it may be the reason.
    Evidence is named relative to the driver's raw folder, which is the parent of `folder`."""
    forward, reverse = attempt.evaluations
    problems = [*forward.problems, *reverse.problems, *checked.problems]
    if problems:
        problems += [p for capture in ended if (p := capture.problem()) is not None]
    marks = folder / "marks.json"
    sent = {path.label: [mark.hex() for mark in path.marks] for path in attempt.paths}
    marks.write_text(json.dumps(sent, indent=2) + "\n")
    return TraversalProof(
        proven=not problems,
        method=f"capture in the functions and at both endpoints, order by SI and TTL ({when})",
        sent=PACKETS,
        forward=forward.observed,
        reverse=reverse.observed,
        problems=tuple(problems),
        evidence=tuple(
            str(path.relative_to(folder.parent))
            for path in (*(capture.pcap for capture in ended), marks)
        ),
        data_planes=checked.methods,
    )
