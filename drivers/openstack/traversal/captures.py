"""Captures of marked packets, on hosts that may be other machines.

One tcpdump on each host sees all of its interfaces; its output arrives here while it is written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfcperf import waiting
from sfcperf.counts import count_text
from sfcperf.drivers.parallel import outcomes
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.packets import tcpdump_output
from sfcperf.plugins import Requirement

SNAPLEN = 256
"""The cooked header, and enough of the packet for NSH, IPv4 and TCP options and the mark."""
LINK_TYPE = "LINUX_SLL2"
START_TIMEOUT_S = 30.0
_COMMAND_TIMEOUT_S = 30.0
_POLL_S = 0.02
# Index and name of an interface in a line of `ip -o link`.
_LINK = re.compile(r"^(\d+): ([^:@\s]+)[:@]", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class CapturePoint:
    """A host whose interfaces are watched."""

    name: str
    """Name of the instance: `client`, `fwd-1`."""
    host: Host
    interfaces: tuple[str, ...]
    at_sff: bool = False
    """Whether they are the SFF's ends of the instance's attachments: what the host sends there, the
    instance receives."""


@dataclass(frozen=True)
class Capture:
    """A capture point with its tcpdump."""

    point: CapturePoint
    names: Mapping[int, str]
    """Index -> name of the interfaces."""
    process: Process
    pcap: Path
    """File of the captured packets, which grows; link type LINUX_SLL2."""
    stderr: Path
    """File of tcpdump's messages."""

    @property
    def is_listening(self) -> bool:
        """Whether packets are captured from now on. Raises MeasurementError if tcpdump ended."""
        output = self._stderr_text()
        if self.process.poll() is not None:
            raise MeasurementError(
                f"tcpdump does not capture at {self.point.name}: {output or 'no message'}",
                hint="its libpcap is older than 1.10 (2020): use a newer image, or one without "
                "tcpdump, so that sfcperf copies that of this machine"
                if LINK_TYPE in output
                else None,
            )
        return tcpdump_output.listening(output)

    def problem(self) -> str | None:
        """What was wrong with the capture, once it has ended; None if it has all packets."""
        output = self._stderr_text()
        try:
            dropped = tcpdump_output.parse(output).dropped
        except MeasurementError:
            return f"the capture at {self.point.name} ended early: {output or 'no message'}"
        return (
            f"the capture at {self.point.name} missed {count_text(dropped, 'packet')}"
            if dropped
            else None
        )

    def _stderr_text(self) -> str:
        return self.stderr.read_text(errors="replace").strip() if self.stderr.exists() else ""


def requirements() -> list[Requirement]:
    """Require the tools that are called on each host."""
    from sfcperf.environment.tools import tool

    return [tool("tcpdump", "tcpdump", ["tcpdump", "--version"]), tool("ip", "iproute2")]


@contextmanager
def capturing(
    points: Sequence[CapturePoint], expression: str, folder: Path
) -> Iterator[list[Capture]]:
    """Capture at all points the packets that a filter of pcap-filter(7) selects, into files
    `POINT.pcap` in the folder. Inside, all of them listen; at the end they are stopped, and the
    files are complete. Raises MeasurementError."""
    captures: list[Capture] = []

    def start(point: CapturePoint) -> None:
        captures.append(_start(point, expression, folder))

    try:
        # `outcomes` waits for all, even if one fails: so all that were started are in `captures`,
        # and get stopped.
        for job in outcomes(*(lambda p=point: start(p) for point in points)):
            job.result()
        captures.sort(key=lambda capture: points.index(capture.point))
        _await_listening(captures)
        yield captures
    finally:
        for stopped in outcomes(*(capture.process.stop for capture in captures)):
            stopped.result()


def _start(point: CapturePoint, expression: str, folder: Path) -> Capture:
    """Start tcpdump at a point; it does not listen yet."""
    pcap, stderr = folder / f"{point.name}.pcap", folder / f"{point.name}.txt"
    for path in (pcap, stderr):
        path.unlink(missing_ok=True)
    # -p, not promiscuous: what a switch floods to other ports is of no interest. -Z root: a small
    # guest has no other user for tcpdump to become.
    argv = ["tcpdump", "-i", "any", "-y", LINK_TYPE, "-p", "-n", "-Z", "root"]
    argv += ["-s", str(SNAPLEN), "--immediate-mode", "-U", "-w", "-", expression]
    names = _interfaces(point)
    process = point.host.spawn(argv, stdout=pcap, stderr=stderr)
    return Capture(point, names, process, pcap, stderr)


def _await_listening(captures: Sequence[Capture]) -> None:
    """Return when all captures listen. Raises MeasurementError after START_TIMEOUT_S."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while silent := [capture.point.name for capture in captures if not capture.is_listening]:
        if time.monotonic() > deadline:
            raise MeasurementError(
                f"tcpdump does not listen within {START_TIMEOUT_S:g} s at {', '.join(silent)}"
            )
        waiting.sleep(_POLL_S)


def _interfaces(point: CapturePoint) -> dict[int, str]:
    """Return index -> name of the point's interfaces. Raises MeasurementError if one is missing."""
    # /sys would show those of another namespace; `ip` is in busybox too.
    links = point.host.run(["ip", "-o", "link"], timeout_s=_COMMAND_TIMEOUT_S).text
    indexes = {name: int(index) for index, name in _LINK.findall(links)}
    missing = [name for name in point.interfaces if name not in indexes]
    if missing:
        raise MeasurementError(
            f"{point.name} has no interface {missing[0]}", allowed=", ".join(indexes)
        )
    return {indexes[name]: name for name in point.interfaces}
