"""Posts: where marked packets are looked for, on hosts that may be other machines.

One tcpdump on each host sees all of its interfaces; what it writes comes here as it is written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.packets import tcpdump_output
from sfcperf.plugins import Requirement

SNAPLEN = 192
"""The cooked header, and of the packet more than IPv4 and TCP options and the mark need."""
LINK_TYPE = "LINUX_SLL2"
_TOO_OLD = (
    "its libpcap is older than 1.10 (2020): take a newer image, or one without tcpdump, to which "
    "this machine's is carried"
)
START_TIMEOUT_S = 30.0
_COMMAND_TIMEOUT_S = 30.0
_POLL_S = 0.02
_LINK = re.compile(r"^(\d+): ([^:@\s]+)[:@]", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class Place:
    """Something with interfaces, of which is told what crosses them."""

    name: str
    """The instance: `client`, `fwd-1`."""
    host: Host
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class Post:
    """A place that is watched."""

    place: Place
    names: Mapping[int, str]
    """Index -> name of the place's interfaces."""
    process: Process
    pcap: Path
    """Grows; link type LINUX_SLL2."""
    said: Path
    """What tcpdump prints on stderr."""

    @property
    def listens(self) -> bool:
        """Whether packets are captured from now on. Raises MeasurementError when they never
        will be."""
        said = self._said()
        if self.process.poll() is not None:
            raise MeasurementError(
                f"tcpdump does not capture at {self.place.name}: {said or 'it is silent'}",
                hint=_TOO_OLD if LINK_TYPE in said else None,
            )
        return tcpdump_output.listening(said)

    def flaw(self) -> str | None:
        """What was wrong with the capture, once it has ended; None: it has all packets."""
        said = self._said()
        try:
            dropped = tcpdump_output.parse(said).dropped
        except MeasurementError:
            return f"the capture at {self.place.name} ended early: {said or 'it is silent'}"
        return f"the capture at {self.place.name} missed {dropped} packets" if dropped else None

    def _said(self) -> str:
        return self.said.read_text(errors="replace").strip() if self.said.exists() else ""


def requirements() -> list[Requirement]:
    """Tools that are called on each host."""
    from sfcperf.environment.tools import tool

    return [tool("tcpdump", "tcpdump", ["tcpdump", "--version"]), tool("ip", "iproute2")]


@contextmanager
def watched(places: Sequence[Place], expression: str, folder: Path) -> Iterator[list[Post]]:
    """Capture at all places what a filter of pcap-filter(7) lets through; files `PLACE.pcap` in
    the folder. Inside, all of them listen. Raises MeasurementError."""
    posts: list[Post] = []

    def start(place: Place) -> None:
        posts.append(_start(place, expression, folder))

    with ThreadPoolExecutor(len(places)) as pool:
        try:
            jobs = [pool.submit(start, place) for place in places]
            # All of them, also when one fails: what was started is in `posts` then, to be ended.
            wait(jobs)
            for job in jobs:
                job.result()
            posts.sort(key=lambda post: places.index(post.place))
            _await(posts)
            yield posts
        finally:
            for ended in [pool.submit(post.process.stop) for post in posts]:
                ended.result()


def _start(place: Place, expression: str, folder: Path) -> Post:
    pcap, said = folder / f"{place.name}.pcap", folder / f"{place.name}.txt"
    for path in (pcap, said):
        path.unlink(missing_ok=True)
    # Not promiscuous: what a switch floods to a port that is not meant is not asked for. And as
    # root to the end, because a small guest has no user for tcpdump to become.
    argv = ["tcpdump", "-i", "any", "-y", LINK_TYPE, "-p", "-n", "-Z", "root"]
    argv += ["-s", str(SNAPLEN), "--immediate-mode", "-U", "-w", "-", expression]
    names = _interfaces(place)
    return Post(place, names, place.host.spawn(argv, stdout=pcap, stderr=said), pcap, said)


def _await(posts: Sequence[Post]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while silent := [post.place.name for post in posts if not post.listens]:
        if time.monotonic() > deadline:
            raise MeasurementError(
                f"tcpdump does not listen within {START_TIMEOUT_S:g} s at {', '.join(silent)}"
            )
        time.sleep(_POLL_S)


def _interfaces(place: Place) -> dict[int, str]:
    # /sys would show those of another namespace, and only `ip` of the others is in busybox too.
    links = place.host.run(["ip", "-o", "link"], timeout_s=_COMMAND_TIMEOUT_S).text
    indexes = {name: int(index) for index, name in _LINK.findall(links)}
    missing = [name for name in place.interfaces if name not in indexes]
    if missing:
        raise MeasurementError(
            f"{place.name} has no interface {missing[0]}", allowed=", ".join(indexes)
        )
    return {indexes[name]: name for name in place.interfaces}
