"""Deployment: what a driver built, described in the words of RFC 7665, for probes and monitors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from sfcperf.hosts.base import Host
from sfcperf.results.flows import FlowCount

P = ParamSpec("P")
T = TypeVar("T")


class Meter(Protocol):
    """Measures the resource use of one instance (an SF or an SFF) since its start."""

    def cpu_s(self) -> float:
        """CPU time used since the start, seconds."""

    def memory_bytes(self) -> int:
        """Memory in use now, bytes."""

    def pids(self) -> list[int]:
        """Process ids of the instance, in the PID namespace of its own machine."""

    def processes(self) -> list[str]:
        """The line of /proc/PID/stat (proc(5)) of each of these processes that still exists."""


def _always_shown(shown: bool) -> None:
    """Do nothing: packet sockets see every packet without help."""


@dataclass(frozen=True)
class Endpoint:
    """An end of the chain, which sends or receives traffic."""

    name: str
    """`client` or `server`."""
    node: str
    host: Host
    address: str
    """IPv4 address that the other endpoint talks to."""
    interface: str
    mtu: int
    """MTU of the interface, bytes of an IP packet."""


@dataclass(frozen=True)
class LookupCounts:
    """What an SFF counted, since it started, about packets that it looked up with one SPI and
    SI."""

    spi: int
    si: int
    direction: Literal["forward", "reverse"]
    came_from: str
    """Instance that the packets came from last: `client`, `fwd-1`."""
    towards: str
    """Instance that the packets go to next."""
    packets: int
    bytes: int
    timed: int
    """Packets for which the SFF measured its own processing time."""
    time_ns: int
    """The SFF's own processing time, summed over the timed packets."""
    traced: int
    """Packets that the SFF recognised from their lookup before this one."""
    away_ns: int
    """Time from when the SFF sent a packet to `came_from` until it was back, summed over traced
    packets."""
    since_first_ns: int
    """Time since the SFF first received a packet, summed over traced packets."""


@dataclass(frozen=True)
class SffCounts:
    """What an SFF counted, in frames, since it started."""

    received: int
    forwarded: int
    """Frames that were forwarded along a path."""
    bypassed: int
    """Frames outside the chain, or in transit to another node."""
    drops: Mapping[str, int]
    """Dropped frames by reason (dataplane/sff/README.md)."""
    lookups: tuple[LookupCounts, ...]


class ReportingSff(Protocol):
    """An SFF that counts what it does, and can be asked."""

    def read(self) -> SffCounts:
        """Read the counts now. Raises MeasurementError."""

    def trace(self, one_in: int) -> None:
        """Trace one packet in `one_in`, a power of 2; 0: none. Raises DeploymentError."""


@dataclass(frozen=True)
class FlowWindow:
    """The flows that a function listed for one window of time."""

    start_ns: int
    """Unix time, nanoseconds."""
    end_ns: int
    packets: int
    """All packets that were monitored, whether or not their flow is listed."""
    unparsed: Mapping[str, int]
    """Frames that were not monitored, by reason."""
    flows: tuple[FlowCount, ...]
    missing_flows: int | None
    """Number of flows that could not be listed; None: there are some, and their number is
    unknown."""
    missing_packets: int
    """Upper bound for the packets of the missing flows together."""
    residual_cells: int
    """Cells that show packets of a flow that was never inserted."""
    threshold_packets: int
    """Least packets that the source of a listed flow had when the window ended."""


class FlowReporter(Protocol):
    """A function that lists the flows of the paths that cross it, by windows of time."""

    def begin_window(self) -> None:
        """Begin a window now; windows before it are not reported. Raises MeasurementError."""

    def end_window(self) -> list[FlowWindow]:
        """End the current window. Return all windows that have ended since the last call of this
        method or of `begin_window`, in order. Raises MeasurementError."""


class FlowWatch(Protocol):
    """SFCMon while it monitors at an SFF: from `WatchableSff.watch` until `stop`."""

    def stop(self) -> list[FlowWindow]:
        """End monitoring; return all its windows, in order. Raises MeasurementError."""


class WatchableSff(Protocol):
    """An SFF at which SFCMon can monitor the packets that it looks up.

    SFCMon sees packets with their SPI and SI before each lookup, including those that the
    classifier or an SFC proxy has encapsulated.
    """

    def watch(self, parameters: Mapping[str, Any], output: Path) -> FlowWatch:
        """Begin to monitor, with the parameters of the monitor `sfcmon`. Windows are printed to the
        file `output`. Raises DeploymentError, EnvironmentLacks."""


class FlowExporter(Protocol):
    """A switch that itself exports by sFlow and IPFIX."""

    def begin(self, kind: str, collector: str, one_in: int) -> None:
        """Send samples (`sflow`) or flow records (`ipfix`) of one packet in `one_in` to the
        collector, IP:PORT. Raises DeploymentError."""

    def end(self) -> None:
        """Stop sending. Raises DeploymentError."""


@dataclass(frozen=True)
class Switch:
    """The ports at which packets arrive at an SFF, for programs in the kernel that look at them."""

    host: Host
    """Host in the network namespace of the interfaces."""
    interfaces: tuple[str, ...]
    """All ports of the switch: attachments and links."""
    exporter: FlowExporter | None = None
    """Exports by sFlow and IPFIX; None: the switch has neither."""
    openflow: str | None = None
    """Where the switch listens for further OpenFlow controllers, `unix:/path` or `tcp:address:port`
    on its host; None: nowhere."""


@dataclass(frozen=True)
class RuleInterface:
    """The REST interface of a function whose rules can be changed while it works."""

    url: str
    """URL without a slash at the end, as the machine that runs sfcperf reaches it."""
    token: str = field(repr=False)
    """Bearer token that every change and reading needs."""


@dataclass(frozen=True)
class Hop:
    """An interface that packets of the chain cross, for counters and captures. Hops are in forward
    order."""

    name: str
    """`client`, `fwd-1`, `server`, `node1-node2`, ..."""
    host: Host
    interface: str
    """Interface on the SFF's side of the attachment, where all packets to and from the SF are
    visible."""
    inside: bool = False
    """Whether `interface` is instead that of the SF or endpoint itself, because the SFF's side is
    not accessible. Then packets received here are those that the SFF sent."""


@dataclass(frozen=True)
class Redirection:
    """What a function that ends connections takes out of the packets of its chain: all connections
    (TCP) or datagrams (UDP) from the client to some ports of the server. It opens connections of
    its own to the server. All other packets are forwarded. Its counter `connections` rises with
    what is redirected."""

    protocol: Literal["tcp", "udp"]
    ports: tuple[int, ...]
    """Ports of the server that the client addresses."""
    server_ports: tuple[int, ...]
    """Ports at which the function's connections reach the server; empty: the client's."""
    request: Callable[[str], bytes]
    """Makes, for a server with this IPv4 address, the first bytes from a client upon which the
    function turns to the server. Each has other bytes if an answer could come from a cache."""


@dataclass(frozen=True)
class ServiceFunction:
    """One SF instance in the chain."""

    name: str
    """Unique in the deployment: the VNF's name and its number, `fwd-1`."""
    vnf: str
    """Name of the VNF in the workflow."""
    type: str
    """VNF type, e.g. `forwarder`."""
    position: int
    """Place in the chain; 1 is the first after the classifier."""
    node: str
    host: Host
    interfaces: tuple[str, ...]
    """Interfaces in the SF, in order: ingress, then egress if it has two."""
    nsh_aware: bool
    """Whether it gets NSH packets here. False: it gets plain IP, even if its type supports NSH."""
    vcpus: tuple[int, ...]
    """CPUs of the node that it may use; empty: it may use any."""
    counters: Callable[[], Mapping[str, int]]
    """Reads the packet counters of the function, counted since its start: always `received`,
    `forwarded` and `dropped`; other names are the function's own. Raises MeasurementError."""
    alive: Callable[[], str | None]
    """Says what is wrong with the function; None while it works. Raises MeasurementError."""
    flows: FlowReporter | None = None
    """Lists the flows of the function; None: it lists none."""
    rule_interface: RuleInterface | None = None
    """Where others set the function's rules; None: it has no such interface."""
    data_plane_pids: tuple[int, ...] = ()
    """Processes on `host` that carry the packets: while they are stopped, no packet crosses. Empty:
    the kernel carries packets."""
    hides_packets: bool = False
    """Whether it takes frames before the tc hooks of its interfaces, although others of its type do
    not (`NetworkFunction.kernel_path`)."""
    redirection: Redirection | None = None
    """Which connections the function ends; None: none."""


class OtherMachine(Protocol):
    """A machine other than the one that runs sfcperf, on which functions of sfcperf can be
    called."""

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function there, or make an object, which stays there. Raises what the function
        raises, and MeasurementError if the connection is lost."""


@dataclass(frozen=True)
class Deployment:
    """A deployed chain: its endpoints, functions, and what can be measured and observed at them."""

    id: str
    """Unique in the run."""
    client: Endpoint
    server: Endpoint
    functions: tuple[ServiceFunction, ...]
    """SFs in chaining order; empty for a chain of length 0."""
    hops: tuple[Hop, ...]
    meters: Mapping[str, Meter]
    """Meters by instance: each SF by its name. `client`, `server`, and `sff@NODE` for each SFF are
    there if they can be metered."""
    encapsulation: str
    """Encapsulation on the wire towards the SFs: `nsh-eth`, `nsh-vxlan-gpe`, ...; `none` without
    SFs."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of the results should know: offloads, MTU, CPU assignment, versions."""
    diagnostics: Mapping[str, Callable[[], Mapping[str, float]]] = field(default_factory=dict)
    """By instance (SFs, `client`, `server`): a function that asks what the infrastructure reports
    about it now. Units are in the names: `cpu_s`, `memory_bytes`, `disk_read_bytes`; a part of the
    instance comes before a slash: `in/rx_packets`. Names with the prefix `memory_` or the suffix
    `_age_s` are current values; all others are counted since the instance began. Raises
    MeasurementError. Empty where the infrastructure reports nothing."""

    sffs: Mapping[str, ReportingSff] = field(default_factory=dict)
    """The SFFs that count what they do, by name, `sff@NODE`."""
    watchable_sffs: Mapping[str, WatchableSff] = field(default_factory=dict)
    """The SFFs at which SFCMon can monitor, by name, `sff@NODE`."""
    switches: Mapping[str, Switch] = field(default_factory=dict)
    """The SFFs whose ports are interfaces of this machine, by name, `sff@NODE`."""
    machines: Mapping[str, OtherMachine] = field(default_factory=dict)
    """Node -> the machine that it is, where nodes are machines that sfcperf does not run on."""
    unparsed: Callable[[], Mapping[str, int]] = dict
    """Returns by `sff@NODE` how many frames from the endpoints its classifier could not parse, and
    so dropped, since it started. Raises DeploymentError, MeasurementError. Empty where the
    infrastructure does not count them."""
    show_packets: Callable[[bool], None] = _always_shown
    """Lets captures at the hops see every packet (True), or no longer (False); calls nest. SFFs
    that forward by XDP bypass packet sockets otherwise; they are slower while packets are shown.
    Raises DeploymentError, MeasurementError."""


@dataclass(frozen=True)
class HopObservation:
    """What was observed about marked packets at one SF, in one direction."""

    function: str
    spi: int | None
    """SPI of the packets. SPI and both SIs are None where the infrastructure chains by other means
    than NSH."""
    si: int | None
    """SI as the packet reached the SF; for an NSH-unaware SF, as it reached its SFC proxy."""
    si_after: int | None
    """SI as the packet left the SF."""
    packets: int
    """Number of distinct marked packets that were observed both entering and leaving."""
    ttl: int | None = None
    """TTL of the IPv4 packet as it reached the SF; None if it does not show the order of the SFs,
    or was not observed."""
    ttl_after: int | None = None
    """TTL as the packet left the SF."""


@dataclass(frozen=True)
class TraversalProof:
    """Evidence, from captures or counters, that packets crossed the SFs in order."""

    proven: bool
    method: str
    """How the traversal was observed, e.g. `capture at the SFF's ports`."""
    sent: int
    """Marked packets that the client sent."""
    forward: tuple[HopObservation, ...]
    """What was observed at each SF, in the order in which packets crossed them."""
    reverse: tuple[HopObservation, ...]
    """What was observed for the replies; empty when the reverse path bypasses the chain."""
    problems: tuple[str, ...] = ()
    """What contradicts the chain as requested; empty when proven."""
    evidence: tuple[str, ...] = ()
    """Files in the driver's raw folder with which anyone can check the proof."""
    data_planes: Mapping[str, str] = field(default_factory=dict)
    """SF -> how it was shown that its own data plane carries the packets: `process` (while its
    processes were stopped, no packet arrived), `counters` (its own counters rose) or `connections`
    (it had one connection with the client and another with the server, and none reached the server
    while its processes were stopped). SFs of which none was checked are absent."""
