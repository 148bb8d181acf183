"""NetworkFunction: one VNF type, as software that runs on a Host.

A driver gives the function a host whose interfaces are attached to an SFF; the function starts its
data plane there. It knows neither the driver nor the chain. The folder of a VNF type holds its
TOSCA descriptor `vnfd.yaml`, its data plane, and a README.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.hosts.base import Host
from sfcperf.plugins import Plugin, Requirement, commands


@dataclass(frozen=True)
class Attachment:
    """How an SF instance hangs on its SFF.

    Or, with encapsulation `none` and two interfaces, in plain IP: behind an SFC proxy, or where the
    infrastructure chains by itself (networking-sfc). Then what comes in by the ingress is for the
    server and leaves by the egress, and the other way round for replies; both interfaces may be in
    one subnet and have addresses, DHCP's included; the host may have others, by which it is
    managed.
    """

    name: str
    """The instance, `fwd-1`."""
    interfaces: tuple[str, ...]
    """Interfaces on the SF's host: ingress, then egress when the type wants two."""
    macs: tuple[str, ...]
    """Their MAC addresses, in the same order."""
    encapsulation: str
    """`nsh-eth`, `nsh-vxlan-gpe`; `none` for plain IP."""
    address: str | None
    """IPv4 address of the ingress interface where the encapsulation needs one (VXLAN-GPE)."""
    client: tuple[str, str]
    """IPv4 and MAC address of the client endpoint: where a function in plain IP sends replies. The
    MAC address may be another's (a gateway, an SFC proxy) that takes packets for it."""
    server: tuple[str, str]
    """IPv4 and MAC address of the server endpoint."""
    vcpus: tuple[int, ...]
    """CPUs that the driver assigned; a function with worker threads pins them to these."""
    mtu: int
    outputs: Path
    """A folder of the machine that runs sfcperf, which is there: for what the function's tools
    print while they run (`Host.spawn` writes here)."""


class RunningFunction(ABC):
    """A network function that was started on a host."""

    @abstractmethod
    def counters(self) -> Mapping[str, int]:
        """`received`, `forwarded`, `dropped`, and the function's own, cumulated since start."""

    @abstractmethod
    def problem(self) -> str | None:
        """None while it works, else what is wrong."""

    def facts(self) -> Mapping[str, Any]:
        """What a reader of the results should know of it and cannot see from its knobs, such as
        the `engine` that `auto` has become."""
        return {}

    def pids(self) -> tuple[int, ...]:
        """Its processes, ids as its host knows them; none where the kernel does the work."""
        return ()

    @abstractmethod
    def stop(self) -> None:
        """End it, and take away whatever it set up on its host, which may get another function
        next; harmless when it has ended."""


class NetworkFunction(Plugin, ABC):
    """A VNF type. `parameters` is the schema of its knobs."""

    name: ClassVar[str]
    nsh_aware: ClassVar[bool]
    """False: the driver puts an SFC proxy in front."""
    plain_ip: ClassVar[bool] = False
    """NSH-aware, and yet also works with encapsulation `none` and two interfaces, where an
    infrastructure chains without NSH. See `takes_plain_ip`."""
    interfaces: ClassVar[int]
    """1: the packet returns where it came from; 2: ingress and egress."""
    kernel_path: ClassVar[bool] = True
    """Whether packets pass the tc hooks of its interfaces, so that tools there see them; False
    where frames are taken before (XDP, packet socket)."""
    folder: ClassVar[Path]
    """Where `vnfd.yaml` and the data plane are."""

    @classmethod
    @abstractmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """What must be there to run it (binaries built, kernel features)."""

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Commands that it calls on its host, beyond those of POSIX, so that a driver can carry
        them to a host that lacks them. Binaries of its own it carries itself (`Host.program`)."""
        return commands(cls.requirements(knobs))

    @classmethod
    def takes_plain_ip(cls) -> bool:
        """Whether it works with encapsulation `none` and two interfaces."""
        return cls.plain_ip or (not cls.nsh_aware and cls.interfaces == 2)

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse knobs that fit the schema but not each other; the loader asks before anything is
        made. Raises InputError, `where` being the knob, or `KNOB/INDEX`."""
        return

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """Whether the SFF's end of the veth must carry an XDP program (a frame returned by XDP_TX
        on a veth is delivered only then)."""
        return False

    @classmethod
    @abstractmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start the data plane and return when it forwards. Raises DeploymentError."""
