"""NetworkFunction: one VNF type, as software that runs on a host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getfile
from pathlib import Path
from typing import Any, ClassVar

from sfcperf import plugins
from sfcperf.errors import InputError, WorkflowError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import (
    FlowReporter,
    Redirection,
    RuleInterface,
    ServiceFunction,
)
from sfcperf.plugins import Plugin, Requirement, commands
from sfcperf.workflow.model import FunctionSpec


@dataclass(frozen=True)
class Management:
    """Where a function is managed, apart from the packets of its chain: its REST interface listens
    there, and its connections to services come from there."""

    address: str
    """IPv4 address of the management interface."""
    namespace: Path | None = None
    """Network namespace of the management interface (a file as in /run/netns), where it is not the
    host's own: a function opens its sockets for packets first and then enters it with setns(2)."""


@dataclass(frozen=True)
class Attachment:
    """How an SF instance is attached to its SFF.

    With the encapsulation `none` and two interfaces, packets are plain IP: behind an SFC proxy, or
    where the infrastructure chains by itself (networking-sfc). What arrives at the ingress is for
    the server and leaves by the egress; replies take the opposite way. Both interfaces may be in
    one subnet and have addresses, DHCP's included. The host may have further interfaces, by which
    it is managed.
    """

    name: str
    """Name of the instance, `fwd-1`."""
    interfaces: tuple[str, ...]
    """Interfaces on the SF's host: ingress, then egress when the type has two."""
    macs: tuple[str, ...]
    """MAC addresses of the interfaces, in the same order."""
    encapsulation: str
    """`nsh-eth`, `nsh-vxlan-gpe`, or `none` for plain IP."""
    address: str | None
    """IPv4 address of the ingress interface where the encapsulation needs one (VXLAN-GPE)."""
    client: tuple[str, str]
    """IPv4 and MAC address of the client endpoint: where a function in plain IP sends replies. The
    MAC address may be that of a gateway or SFC proxy that takes packets for the client."""
    server: tuple[str, str]
    """IPv4 and MAC address of the server endpoint."""
    vcpus: tuple[int, ...]
    """CPUs that the driver assigned; a function with worker threads pins them to these."""
    mtu: int
    """MTU of the interfaces, bytes."""
    outputs: Path
    """An existing folder on the machine that runs sfcperf, for what the function's tools print
    (`Host.spawn` writes there). The drivers of this tree keep it in the results."""
    management: Management | None = None
    """Where the function is managed; None where the infrastructure has no such place."""
    scratch: Path | None = None
    """An existing folder beside it that goes with the deployment, for output that is too large to
    keep; None: there is none."""
    run_id: str = ""
    """The run, for what the function tells others; empty if there is none."""
    cache: Path | None = None
    """A folder on the machine that runs sfcperf, for what the functions of a run make once and
    share; removed at the end of the run. None: there is no such folder."""
    sff_mac: str | None = None
    """MAC address from which NSH frames come, and to which they return. None with plain IP, and
    where frames come from several, so that each has to return to its source."""
    sff_address: str | None = None
    """IPv4 address of the SFF where the encapsulation needs one (VXLAN-GPE)."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Name of each service in the workflow -> where it is reached, `ADDRESS:PORT`, and what else a
    function needs to know (`RunningService.address_for_functions`)."""


class RunningFunction(ABC):
    """An instance of a VNF type that works on a host: from `NetworkFunction.start`, which makes it,
    until `stop`.

    Not thread-safe: its caller makes one call at a time."""

    @abstractmethod
    def counters(self) -> Mapping[str, int]:
        """Counter -> value now, cumulated since the start: packets unless the name ends in a unit.
        `received`, `forwarded` and `dropped` are always there. Raises MeasurementError."""

    @abstractmethod
    def problem(self) -> str | None:
        """Return None while the function works, else what is wrong. Never raises
        MeasurementError."""

    def facts(self) -> Mapping[str, Any]:
        """What a reader of the results cannot see from the knobs, such as the `engine` that `auto`
        has become; values as JSON has them."""
        return {}

    def flows(self) -> FlowReporter | None:
        """Return what lists the flows that cross the function; None for one that lists none."""
        return None

    def rule_interface(self) -> RuleInterface | None:
        """Return where others set its rules; None for a function without such an interface."""
        return None

    @property
    def hides_packets(self) -> bool:
        """Whether it takes frames before the tc hooks of its interfaces, although `kernel_path` of
        its type says otherwise."""
        return False

    def pids(self) -> tuple[int, ...]:
        """The function's processes, by the ids that its host gives them; none where the kernel does
        the work."""
        return ()

    def data_plane_pids(self) -> tuple[int, ...]:
        """Those of its processes that carry packets: while they are stopped (SIGSTOP), no packet
        crosses. None where the kernel carries packets, or lets them pass when a process does not
        answer."""
        return ()

    def described(
        self,
        spec: FunctionSpec,
        host: Host,
        interfaces: tuple[str, ...],
        vcpus: tuple[int, ...],
        *,
        nsh_aware: bool = False,
        redirection: Redirection | None = None,
    ) -> ServiceFunction:
        """Describe the function for the driver's Deployment. `spec` is its part of the workflow;
        `nsh_aware` says whether it gets NSH packets here; the others are as in ServiceFunction."""
        return ServiceFunction(
            name=spec.name,
            vnf=spec.vnf,
            type=spec.type,
            position=spec.position,
            node=spec.node,
            host=host,
            interfaces=interfaces,
            nsh_aware=nsh_aware,
            vcpus=vcpus,
            counters=self.counters,
            alive=self.problem,
            flows=self.flows(),
            rule_interface=self.rule_interface(),
            data_plane_pids=self.data_plane_pids(),
            hides_packets=self.hides_packets,
            redirection=redirection,
        )

    @abstractmethod
    def stop(self) -> None:
        """End the function and remove what it set up on its host, which may get another function
        next. Harmless when called again, or when the host is gone; never raises MeasurementError.
        """


class NetworkFunction(Plugin, ABC):
    """A VNF type. Its folder holds its data plane, a README and, if it has one, its TOSCA
    descriptor `vnfd.yaml`.

    A driver gives the function a host whose interfaces are attached to an SFF, and the function
    starts its data plane there. It knows neither the driver nor the chain.

    The class is never instantiated. The order of calls is: `check` when a workflow is loaded;
    `requirements` and `tools` before anything is created; then, for each instance of the type in
    each scenario, `start`, any number of calls to the RunningFunction, and its `stop`. Drivers may
    start instances on several threads at a time, each on a host of its own, so that `start` keeps
    no state in the class.

    `parameters` is the JSON Schema of the type's knobs. Every `knobs` argument has passed it, and
    defaults are filled in. Units are in the names of knobs (`delay_us`).

    Errors: InputError for knobs that contradict each other, DeploymentError when an instance cannot
    start, MeasurementError when a running one cannot be read.
    """

    name: ClassVar[str]
    """Name of the type in workflows, and of its entry point."""
    nsh_aware: ClassVar[bool]
    """Whether packets arrive with their NSH; False: the driver puts an SFC proxy in front. See
    `form`."""
    plain_ip: ClassVar[bool] = False
    """Whether an NSH-aware type also works with the encapsulation `none` and two interfaces, where
    an infrastructure chains without NSH. See `takes_plain_ip`."""
    interfaces: ClassVar[int]
    """1: packets return where they came from; 2: ingress and egress."""
    kernel_path: ClassVar[bool] = True
    """Whether packets pass the tc hooks of its interfaces, so that tools there see them; False
    where frames are taken before (XDP, packet socket)."""
    plain_ip_by_kernel: ClassVar[bool] = True
    """For a type whose `kernel_path` is False: whether packets in plain IP pass the tc hooks all
    the same, because the type leaves plain IP to the kernel."""
    folder: ClassVar[Path]
    """Where the data plane and `vnfd.yaml` are: the folder of the module that defines the class."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.folder = Path(getfile(cls)).resolve().parent

    @classmethod
    def own_descriptor(cls) -> Path | None:
        """Return its TOSCA descriptor; None if it has none: then an instance has the default
        resources unless the workflow sets others."""
        path = cls.folder / "vnfd.yaml"
        return path if path.is_file() else None

    @classmethod
    @abstractmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """What must be there to run it: commands, compiled tools, kernel features. Looked for on
        the machine that runs sfcperf; each says itself whether it is met."""

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Commands that it calls on its host, beyond those of POSIX: a driver carries them to a
        host that lacks them. The type carries binaries of its own itself (`Host.program`)."""
        return commands(cls.requirements(knobs))

    @classmethod
    def programs(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Commands and paths of the programs that it runs, whose versions results should record;
        those that are on this machine are. By default, its `tools`."""
        return cls.tools(knobs)

    @classmethod
    def form(cls, knobs: Mapping[str, Any]) -> type[NetworkFunction]:
        """The type as these knobs make it: a subclass, where `nsh_aware`, `interfaces` or another
        attribute of the class depends on them."""
        return cls

    @classmethod
    def takes_plain_ip(cls) -> bool:
        """Whether it works with the encapsulation `none` and two interfaces."""
        return cls.plain_ip or (not cls.nsh_aware and cls.interfaces == 2)

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse knobs that fit the schema but not each other. Raises InputError, `where` being the
        knob, or `KNOB/INDEX`."""
        return

    @classmethod
    def check_encapsulation(cls, encapsulation: str, knobs: Mapping[str, Any]) -> None:
        """Refuse an encapsulation (`Attachment.encapsulation`) that the knobs rule out. Raises
        InputError, as `check`."""
        return

    @classmethod
    def files(cls, knobs: Mapping[str, Any]) -> Iterable[tuple[str | int, ...]]:
        """Places in the knobs, as keys and indices, of files and folders that come with the
        workflow. Their relative paths start at its folder, and are absolute in all other calls."""
        return ()

    @classmethod
    def commands(cls, knobs: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[str]]]:
        """Commands that the knobs state, and images in which they run, by their digests; each with
        its place in the knobs. Users are shown them before they run a workflow of somebody else."""
        return ()

    @classmethod
    def services(cls, knobs: Mapping[str, Any]) -> Mapping[str, str]:
        """Knob -> name of the service that it refers to, which must be one of the workflow's."""
        return {}

    @classmethod
    def here_only(cls, knobs: Mapping[str, Any]) -> str | None:
        """The knob, if any, whose value works only where a function's host shares the files of the
        machine that runs sfcperf, as a namespace does."""
        return None

    @classmethod
    def inline(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether a type that is not NSH-aware, with two interfaces, is a bump in the wire: frames
        reach it addressed to the endpoint beyond it, and leave as they came."""
        return False

    @classmethod
    def redirection(cls, knobs: Mapping[str, Any]) -> Redirection | None:
        """Which connections the function ends, so that it sends packets of its own; None: none. The
        knobs have passed `check`."""
        return None

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether a process carries its packets (`RunningFunction.data_plane_pids`) as far as the
        knobs say; for estimates of the time that its proof takes."""
        return False

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether the SFF's end of the veth must carry an XDP program: a frame that is returned by
        XDP_TX on a veth is delivered only then."""
        return False

    @classmethod
    @abstractmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start the data plane and return when it forwards. When it raises, nothing of it stays on
        the host. Raises DeploymentError, or EnvironmentLacks for a tool that was not compiled."""


def function_type(spec: FunctionSpec) -> type[NetworkFunction]:
    """Return the VNF type of a function, in the form that its knobs give it."""
    kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
    return kind.form(spec.knobs)


def check_encapsulation(spec: FunctionSpec, encapsulation: str) -> None:
    """Refuse an encapsulation that a function does not take. Raises WorkflowError."""
    try:
        function_type(spec).check_encapsulation(encapsulation, spec.knobs)
    except InputError as error:
        where = f"/vnfs/{spec.vnf}/knobs/{error.where}"
        raise WorkflowError(
            f"{spec.name}: {error.message}", where=where, allowed=error.allowed, hint=error.hint
        ) from error
