"""Deployment: what a driver built, in the words of RFC 7665, for probes and monitors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from sfcperf.hosts.base import Host
from sfcperf.results.flows import FlowCount


class Meter(Protocol):
    """Resource use of one instance (an SF or an SFF), accumulated since its start."""

    def cpu_s(self) -> float:
        """CPU time used, seconds."""

    def memory_bytes(self) -> int:
        """Memory in use now, bytes."""

    def pids(self) -> list[int]:
        """Process ids of the instance, in the PID namespace of its own machine."""

    def processes(self) -> list[str]:
        """The line of /proc/PID/stat (proc(5)) of each of these processes that still exists."""


def _always_shown(shown: bool) -> None:
    """Packet sockets see every packet anyway."""


@dataclass(frozen=True)
class Endpoint:
    """A source or destination of traffic at an end of the chain."""

    name: str
    """`client`, `server`."""
    node: str
    host: Host
    address: str
    """IPv4 address that the other endpoint talks to."""
    interface: str
    mtu: int
    """Of the interface, bytes of IP packet."""


@dataclass(frozen=True)
class LookupCounts:
    """What an SFF counted since it started, of packets that it looked up with one SPI and SI."""

    spi: int
    si: int
    direction: Literal["forward", "reverse"]
    came_from: str
    """Instance that they came from last: `client`, `fwd-1`."""
    towards: str
    """Instance that they go to next."""
    packets: int
    bytes: int
    timed: int
    """Packets for which the SFF measured its own time."""
    time_ns: int
    """Of these, in total."""
    traced: int
    """Packets that the SFF recognised from its lookup before."""
    away_ns: int
    """Of these, in total: from when the SFF sent them to `came_from` until they were back."""
    since_first_ns: int
    """Of these, in total: since the SFF had first received them."""


@dataclass(frozen=True)
class SffCounts:
    """What an SFF counted, in frames, since it started."""

    received: int
    forwarded: int
    """Along a path."""
    bypassed: int
    """Outside the chain, or in transit to another node."""
    drops: Mapping[str, int]
    """By reason (dataplane/sff/README.md)."""
    lookups: tuple[LookupCounts, ...]


class ReportingSff(Protocol):
    """An SFF that counts what it does."""

    def read(self) -> SffCounts:
        """The counts now. Raises MeasurementError."""

    def trace(self, one_in: int) -> None:
        """Trace one packet in so many, a power of 2; 0: none. Raises DeploymentError."""


@dataclass(frozen=True)
class FlowWindow:
    """What a function listed of a window of time."""

    start_ns: int
    """Unix time, nanoseconds."""
    end_ns: int
    packets: int
    """All that were monitored, of listed flows or not."""
    unparsed: Mapping[str, int]
    """Frames that were not monitored, by reason."""
    flows: tuple[FlowCount, ...]
    missing_flows: int | None
    """Flows that could not be listed; None: some, it is not known how many."""
    missing_packets: int
    """Upper bound for what these have together."""
    residual_cells: int
    """Cells that show packets of a flow that was never inserted."""
    threshold_packets: int
    """Least packets of a listed flow's source, when the window ended."""


class FlowReporter(Protocol):
    """A function that lists the flows of the paths that cross it, by windows of time."""

    def begin_window(self) -> None:
        """Begin a window now; those before are not reported. Raises MeasurementError."""

    def end_window(self) -> list[FlowWindow]:
        """End the window that goes on; gives all that have ended since the last call of this or of
        `begin_window`, in order. Raises MeasurementError."""


class FlowWatch(Protocol):
    """SFCMon at an SFF, from `WatchableSff.watch` until `stop`."""

    def stop(self) -> list[FlowWindow]:
        """End; gives all its windows, in order. Raises MeasurementError."""


class WatchableSff(Protocol):
    """An SFF where SFCMon can monitor the packets that it looks up.

    SFCMon sees them with their SPI and SI before each lookup, also those that the classifier or an
    SFC proxy has encapsulated."""

    def watch(self, parameters: Mapping[str, Any], output: Path) -> FlowWatch:
        """Begin to monitor, with the parameters of the monitor `sfcmon`. Windows are printed to the
        file `output`. Raises DeploymentError, EnvironmentLacks."""


class FlowExporter(Protocol):
    """A switch with sFlow and IPFIX of its own."""

    def begin(self, kind: str, collector: str, one_in: int) -> None:
        """Send samples (`sflow`) or flow records (`ipfix`) of one packet in so many to IP:PORT.
        Raises DeploymentError."""

    def end(self) -> None:
        """Send no longer. Raises DeploymentError."""


@dataclass(frozen=True)
class Switch:
    """Where packets arrive at an SFF, for programs of the kernel that look at them."""

    host: Host
    """In the network namespace of the interfaces."""
    interfaces: tuple[str, ...]
    """All of its ports: attachments and links."""
    exporter: FlowExporter | None = None
    """None: it has neither."""
    openflow: str | None = None
    """Where it listens for further OpenFlow controllers, `unix:/path` or `tcp:address:port` on its
    host; None: nowhere."""


@dataclass(frozen=True)
class RuleInterface:
    """The REST interface of a function whose rules can be changed while it works."""

    url: str
    """Without a slash at the end, as the machine that runs sfcperf reaches it."""
    token: str = field(repr=False)
    """Bearer token that changes and readings need."""


@dataclass(frozen=True)
class Hop:
    """An interface that packets of the chain cross, in forward order, for counters and captures."""

    name: str
    """`client`, `fwd-1`, `server`, `node1-node2`, ..."""
    host: Host
    interface: str
    """On the SFF's side of the attachment, where all packets to and from the SF are visible."""
    inside: bool = False
    """Whether it is the SF's or endpoint's own interface instead, where the SFF's side is not
    accessible: packets received here are those that the SFF sent."""


@dataclass(frozen=True)
class ServiceFunction:
    """One SF instance in the chain."""

    name: str
    """Unique in the deployment: the VNF's name and its number, `fwd-1`."""
    vnf: str
    """Name of the VNF in the workflow."""
    type: str
    """VNF type, `forwarder`."""
    position: int
    """Place in the chain, 1 is the first after the classifier."""
    node: str
    host: Host
    interfaces: tuple[str, ...]
    """In the SF, in order: ingress, then egress when it has two."""
    nsh_aware: bool
    """Whether it gets NSH packets here; False for plain IP, even if the type supports NSH."""
    vcpus: tuple[int, ...]
    """CPUs of the node that it may use; empty: unbounded."""
    counters: Callable[[], Mapping[str, int]]
    """Packet counters of the function, accumulated since its start; always with `received`,
    `forwarded` and `dropped`, other names are the function's own. Raises MeasurementError."""
    alive: Callable[[], str | None]
    """None while the function works, else what is wrong with it. Raises MeasurementError."""
    flows: FlowReporter | None = None
    """What lists its flows, for a function that does."""
    rule_interface: RuleInterface | None = None
    """Where others set its rules, for a function that has such an interface."""


@dataclass(frozen=True)
class Deployment:
    """A deployed chain."""

    id: str
    """Unique in the run."""
    client: Endpoint
    server: Endpoint
    functions: tuple[ServiceFunction, ...]
    """In chaining order; empty for a chain of length 0."""
    hops: tuple[Hop, ...]
    meters: Mapping[str, Meter]
    """By instance: each SF by its name; if they can be metered, also `client`, `server`, and
    `sff@NODE` for each SFF."""
    encapsulation: str
    """What is on the wire towards the SFs: `nsh-eth`, `nsh-vxlan-gpe`, ...; `none` at length 0."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of the results should know: offloads, MTU, CPU assignment, versions."""
    diagnostics: Mapping[str, Callable[[], Mapping[str, float]]] = field(default_factory=dict)
    """By instance (SFs, `client`, `server`): what the infrastructure reports about it, queried at
    each call. Units are in the names: `cpu_s`, `memory_bytes`, `disk_read_bytes`; a part of the
    instance comes before a slash: `in/rx_packets`. Names with the prefix `memory_` or the suffix
    `_age_s` are current values, all others are counted since the instance began. Raises
    MeasurementError. Empty where the infrastructure reports nothing."""

    sffs: Mapping[str, ReportingSff] = field(default_factory=dict)
    """By name, `sff@NODE`: those SFFs that count what they do."""
    watchable_sffs: Mapping[str, WatchableSff] = field(default_factory=dict)
    """By name, `sff@NODE`: those SFFs where SFCMon can monitor."""
    switches: Mapping[str, Switch] = field(default_factory=dict)
    """By name, `sff@NODE`: those whose ports are interfaces of this machine."""
    unparsed: Callable[[], Mapping[str, int]] = dict
    """By `sff@NODE`: frames from the endpoints that its classifier cannot parse, and dropped, since
    it started. Raises DeploymentError, MeasurementError. Empty where the infrastructure does not
    count them."""
    show_packets: Callable[[bool], None] = _always_shown
    """Let captures at the hops see every packet (True), or no longer (False); calls nest. SFFs that
    forward by XDP are invisible to packet sockets otherwise, and slower meanwhile. Raises
    DeploymentError, MeasurementError."""


@dataclass(frozen=True)
class HopObservation:
    """What was observed of marked packets at one SF, in one direction."""

    function: str
    spi: int | None
    """None, as are both SIs, where the infrastructure chains by other means than NSH."""
    si: int | None
    """As the packet reached the SF (for an NSH-unaware SF: as it reached its SFC proxy)."""
    si_after: int | None
    """As the packet left it."""
    packets: int
    """Distinct marked packets that were observed both entering and leaving."""
    ttl: int | None = None
    """TTL of the IPv4 packet as it reached the SF, if it shows the order of the SFs; None if it
    does not, or was not observed."""
    ttl_after: int | None = None
    """As the packet left it."""


@dataclass(frozen=True)
class TraversalProof:
    """Evidence, from captures or counters, that packets crossed the SFs in order."""

    proven: bool
    method: str
    """How it was observed, e.g. `capture at the SFF's ports`."""
    sent: int
    """Marked packets that were sent by the client."""
    forward: tuple[HopObservation, ...]
    """In the order in which packets crossed."""
    reverse: tuple[HopObservation, ...]
    """The same for replies; empty when the reverse path bypasses the chain."""
    problems: tuple[str, ...] = ()
    """What contradicts the chain as asked; empty when proven."""
    evidence: tuple[str, ...] = ()
    """Files in the driver's raw folder with which anyone can check it."""
