"""transit-time: measures how long each packet is inside each VNF, by captures on both of the VNF's
sides."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment, Hop, ServiceFunction
from sfcperf.packets.identity import SNAPLEN, identity
from sfcperf.packets.matching import MatchedPackets, Seen, match
from sfcperf.packets.pcap_file import recorded
from sfcperf.passive.base import Monitor
from sfcperf.passive.pptmon_placement import DIRECTIONS, Direction, visible
from sfcperf.passive.tcpdump import (
    FILE_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    ROUNDING_BYTES,
    TcpdumpMonitor,
    buffer_kib,
)
from sfcperf.plugins import Requirement, array, choice, flag, object_schema
from sfcperf.results.percentiles import percentiles
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults

CAPTURED = "captured_processing_time_us"
_PERCENTILES = (1, 50, 99)
_NS_PER_US = 1000
_TIMEOUT_S = 30.0
_BUFFER_KIB = 32_768
_MOST_PACKETS = 200_000
"""Number of packets after which each capture ends."""
_MOST_OBSERVATIONS = 2000
"""Most packets per VNF and direction whose times are recorded one by one."""


@dataclass(frozen=True)
class Crossing:
    """A VNF that packets cross in one direction, and the hops of its two captures (`_crossing`
    makes them)."""

    function: ServiceFunction
    direction: Direction
    ingress: Hop
    egress: Hop


class TransitTimeMonitor(Monitor):
    """Captures packets inside each VNF, where they enter and where they leave, and pairs them by
    those parts that VNFs do not change (including NAT).

    The time starts when the kernel timestamps an incoming packet: before the packet waits for the
    CPU if net.core.netdev_tstamp_prequeue is 1, which is Linux's default. It ends when the driver
    of the egress interface gets the packet, behind tc and queueing. It therefore includes the time
    that pptmon reports and pptmon's own programs: expect one to three microseconds more than pptmon
    reports, and some ten at tens of packets per second, because these find cold caches.

    Both captures use the VNF's clock, so VNFs can be VMs.

    Each VNF has `captured_processing_time_us` of single packets (at most 2000 of
    them, evenly spread) and, over all packets, `captured_processing_time_mean_us`, `..._p1_us`,
    `..._p50_us`, `..._p99_us`, `..._packets`, `..._only_entered_packets`,
    `..._only_left_packets` and `..._ambiguous_packets`. Names of the reverse direction begin with
    `reverse_`.
    """

    name = "transit-time"
    title = "Time of every packet in each VNF, from captures on both sides"
    cost = (
        "two tcpdumps per VNF and direction copy each packet that matches the filter (some µs per "
        "packet, part of them within the measured time): use it to check pptmon at modest rates, "
        "not in trials whose throughput counts"
    )
    parameters = object_schema(
        {
            "functions": array(
                "Names of the VNFs (`router-1`). Default: all whose packets pass the kernel.",
                {"type": "string"},
                minItems=1,
                uniqueItems=True,
            ),
            "direction": choice(
                "Packets from client to server (`forward`), replies (`reverse`), or both.",
                ["forward", "reverse", "both"],
                default="forward",
            ),
            "filter": array(
                "Filter as words of the syntax of pcap-filter(7), such as "
                '["udp"]; packets must match it on both sides of the VNFs. Empty: every packet.',
                {"type": "string", "minLength": 1},
                default=[],
            ),
            "keep_captures": flag(
                "Keep the captures (some 200 bytes per packet) in the trial's raw folder."
            ),
        }
    )

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self._crossings: list[Crossing] = []
        self._captures: _SideCaptures | None = None
        """The captures at all crossings, while they run."""
        self._raw_dir = Path()
        self._offsets_ns: dict[str, int] = {}
        """VNF -> offset of its host's Unix clock from ours."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require tcpdump, and `ip`, which tells MAC addresses. Both must be there on the hosts of
        the VNFs."""
        return [*TcpdumpMonitor.requirements(), tool("ip", "iproute2")]

    def start(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start the captures of all crossings. A chain without VNFs has none. Raises
        MeasurementError when a VNF does not exist or cannot be captured."""
        self._raw_dir = raw_dir
        self._crossings = list(self._chosen(deployment))
        if not self._crossings:
            return
        self._offsets_ns = {
            c.function.name: clock.offset_ns(c.function.host) for c in self._crossings
        }
        hops = tuple(hop for c in self._crossings for hop in (c.ingress, c.egress))
        ways = {c.ingress.name: "in" for c in self._crossings}
        captures = _SideCaptures(
            self.parameters["filter"],
            ways | {c.egress.name: "out" for c in self._crossings},
        )
        captures.start(replace(deployment, hops=hops), raw_dir)
        self._captures = captures

    def stop(self) -> Sequence[Observation]:
        """End the captures, pair their packets, and return the times that packets were inside."""
        captures, self._captures = self._captures, None
        if captures is None:
            return [Observation(time.time_ns(), self.name, "monitor_cpu_s", "s", 0.0)]
        observations = captures.stop()
        started = time.thread_time()
        # The captures' CPU time becomes a part of this monitor's.
        own = [o for o in observations if o.metric != "monitor_cpu_s"]
        time_ns = own[-1].time_ns
        found: list[Observation] = []
        for crossing in self._crossings:
            seen = [self._seen(hop) for hop in (crossing.ingress, crossing.egress)]
            found += self._observations(crossing, match(*seen), time_ns)
        cpu_s = sum(o.value for o in observations if o.metric == "monitor_cpu_s")
        cpu_s += time.thread_time() - started
        found.sort(key=lambda observation: observation.time_ns)
        return [*found, *own, Observation(time_ns, self.name, "monitor_cpu_s", "s", cpu_s)]

    def _chosen(self, deployment: Deployment) -> Iterator[Crossing]:
        """Give the crossings of the VNFs and directions that the parameters choose. Raises
        MeasurementError for a VNF whose packets do not pass the kernel."""
        there = {f.name: f for f in deployment.functions if visible(f)}
        names = self.parameters.get("functions", list(there))
        unknown = [name for name in names if name not in there]
        if unknown or (deployment.functions and not names):
            raise MeasurementError(
                f"no VNF whose packets pass the kernel is named {', '.join(unknown)}"
                if unknown
                else "no VNF of this chain passes its packets to the kernel",
                allowed=", ".join(there) or "none in this chain",
            )
        for direction in DIRECTIONS[self.parameters["direction"]]:
            for name in names:
                yield _crossing(there[name], direction)

    def _seen(self, hop: Hop) -> list[Seen]:
        """Return the identity of each packet in the capture of a hop, and when it was seen [ns].
        Packets without an identity are left out. The file is removed unless the user keeps it.
        Raises MeasurementError."""
        path = self._raw_dir / f"tcpdump-{hop.name}.pcap"
        seen = [(identity(frame), time_ns) for time_ns, frame in recorded(path)]
        if not self.parameters["keep_captures"]:
            path.unlink()
        return [(known, time_ns) for known, time_ns in seen if known is not None]

    def _observations(
        self, crossing: Crossing, matched: MatchedPackets, time_ns: int
    ) -> Iterator[Observation]:
        """Give the times of single packets, evenly chosen, and counts, mean and percentiles over
        all packets of a crossing."""
        source = crossing.function.name
        prefix = "" if crossing.direction == "forward" else "reverse_"
        times_us = [inside_ns / _NS_PER_US for _, inside_ns in matched.crossings]
        # Times in both captures are those of the VNF's own clock; times in telemetry are ours.
        offset_ns = self._offsets_ns[source]
        for place in _evenly(len(times_us), _MOST_OBSERVATIONS):
            at = matched.crossings[place][0] - offset_ns
            yield Observation(at, source, f"{prefix}{CAPTURED}", "us", times_us[place])
        stem = f"{prefix}{CAPTURED.removesuffix('_us')}"
        counts = {
            "packets": len(times_us),
            "only_entered_packets": matched.only_entered,
            "only_left_packets": matched.only_left,
            "ambiguous_packets": matched.ambiguous,
        }
        for name, count in counts.items():
            yield Observation(time_ns, source, f"{stem}_{name}", "1", count)
        if times_us:
            yield Observation(time_ns, source, f"{stem}_mean_us", "us", fmean(times_us))
        for percent, value in percentiles(times_us, _PERCENTILES).items():
            if value is not None:
                yield Observation(time_ns, source, f"{stem}_p{percent}_us", "us", value)


class _SideCaptures(TcpdumpMonitor):
    """The captures on the sides of VNFs. Each has packets of one direction, with times in
    nanoseconds. tcpdump gets many packets at a time (it does not use immediate mode), so that it
    does not wake up for each of them beside the VNF. `ways` maps the name of a hop to the direction
    to capture there: `in` for packets that the interface receives, `out` for those that it
    sends."""

    def __init__(
        self, expression: Sequence[str], ways: Mapping[str, Literal["in", "out"] | str]
    ) -> None:
        record_bytes = RECORD_HEADER_BYTES + SNAPLEN + ROUNDING_BYTES
        parameters = {
            "filter": expression,
            "snaplen": SNAPLEN,
            "max_bytes": FILE_HEADER_BYTES + _MOST_PACKETS * record_bytes,
        }
        super().__init__(with_defaults(TcpdumpMonitor.parameters, parameters))
        self._ways = ways

    def reading(self, hop: Hop) -> list[str]:
        options = ["-B", str(buffer_kib(hop.host, _BUFFER_KIB)), "--time-stamp-precision", "nano"]
        return [*options, "-Q", self._ways[hop.name]]

    def expression(self, hop: Hop) -> list[str]:
        # Only packets to the interface's own MAC address enter the VNF. Others must be left out: a
        # switch that does not know an address floods, and the VNF may even get its own packets
        # back.
        expression = super().expression(hop)
        if self._ways[hop.name] == "out":
            return expression
        own = ["ether", "dst", _mac(hop)]
        return [*own, "and", "(", *expression, ")"] if expression else own

    @property
    def wait_at_the_end(self) -> bool:
        # Without immediate mode, the last packets are still in the kernel's buffer.
        return True


def _crossing(function: ServiceFunction, direction: Direction) -> Crossing:
    """Return the crossing of a VNF in one direction. Raises MeasurementError for a VNF with one
    interface."""
    if len(set(function.interfaces)) < 2:
        raise MeasurementError(
            f"{function.name} has one interface: a capture cannot tell what goes in from what "
            "comes back",
            allowed="VNFs with an ingress and an egress interface",
        )
    ends = (function.interfaces[0], function.interfaces[-1])
    sides = ends if direction == "forward" else ends[::-1]
    host = _beside(function.host)
    ingress, egress = (
        Hop(f"inside-{function.name}-{direction}-{way}", host, interface, inside=True)
        for way, interface in zip(("in", "out"), sides, strict=True)
    )
    return Crossing(function, direction, ingress, egress)


def _beside(host: Host) -> Host:
    """Return a host with the VNF's network on which captures do not take the VNF's CPU time. Where
    the VNF is a namespace of this machine, that is the same namespace outside the VNF's cgroups,
    which limit its CPUs. Any other host, such as a VM, is returned as it is."""
    if isinstance(host, NamespaceHost) and host.namespace is not None:
        return NamespaceHost(host.name, host.namespace.name, host.workdir)
    return host


def _mac(hop: Hop) -> str:
    """Return the MAC address of the hop's interface. Raises MeasurementError if it has none."""
    argv = ["ip", "-o", "link", "show", "dev", hop.interface]
    found = re.search(r"link/ether ([0-9a-f:]{17})", hop.host.run(argv, timeout_s=_TIMEOUT_S).text)
    if found is None:
        raise MeasurementError(f"{hop.interface} of {hop.host.name} is no Ethernet interface")
    return found[1]


def _evenly(count: int, most: int) -> list[int]:
    """Choose at most `most` of the places 0 ... count - 1, evenly spread."""
    if count <= most:
        return list(range(count))
    return [place * count // most for place in range(most)]
