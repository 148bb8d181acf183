"""Specifications: the machines of a run, and a chain through them, before anything is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfcperf.workflow.model import Match

MANAGEMENT = "management"
"""Port for SSH."""
DATA = "data"
"""The port of an endpoint in the data network, and with the chaining `overlay` that of a
function."""
INGRESS, EGRESS = "in", "out"
"""A function's ports in the data network, if networking-sfc chains it: its port pair."""
Correlation = Literal["nsh", "mpls"]
"""Encapsulation of a chain, by the name of networking-sfc's parameter."""
PREFIX_LENGTH = 24
"""Length of the prefix of a run's own data network, which holds both endpoints and all
functions."""


class ResourceNames:
    """Names of a run's resources: each carries the run's tag, 6 characters of [0-9a-z]."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.run = f"sfcperf-{tag}"
        """Name of what a run has only one of: key pair, chain, security group."""

    def of(self, what: str) -> str:
        """Return `sfcperf-TAG-WHAT`."""
        return f"{self.run}-{what}"

    def machine(self, number: int, vnf: str) -> str:
        """`sfcperf-TAG-01-fwd`: the number is unique in the run."""
        return self.of(f"{number:02d}-{vnf}")

    def owns(self, name: str) -> bool:
        """Whether a resource of this name belongs to the run."""
        return name == self.run or name.startswith(f"{self.run}-")


@dataclass(frozen=True)
class MachineSpec:
    """What a machine must have. Scenarios share machines of the same spec, because booting one
    costs more than a trial."""

    role: Literal["endpoint", "function"]
    vnf: str
    """Name of the VNF in the workflow; of an endpoint its own (`client`, `server`)."""
    type: str
    """VNF type; of an endpoint, `endpoint`."""
    image: str
    """Name or id of the image."""
    flavor: str | None
    """Name or id; None: the smallest that has `vcpus` and `memory_mib`."""
    vcpus: int
    memory_mib: int
    """Minimum, as are the vCPUs; both are 0 if a flavor is named and the workflow sets no size."""
    hypervisor: str | None
    """Hypervisor on which it must run; None: the cloud chooses."""
    vnfd: Path | None
    """TOSCA descriptor, for Tacker; None for an endpoint."""
    user_data: str | None = None
    """The descriptor's own, for cloud-init; None: it has none."""
    overlay: bool = False
    """Whether it has an SFF of its own (chaining `overlay`)."""

    @property
    def has_port_pair(self) -> bool:
        """Whether networking-sfc sends packets through it."""
        return self.role == "function" and not self.overlay

    @property
    def ports(self) -> tuple[str, ...]:
        """Ports, in the order of the machine's interfaces."""
        return (MANAGEMENT, *((INGRESS, EGRESS) if self.has_port_pair else (DATA,)))


@dataclass(frozen=True)
class MachinePlan:
    """A machine to be made."""

    name: str
    """Unique in the cloud, carries the run's tag: `sfcperf-TAG-01-fwd`."""
    spec: MachineSpec
    address: str | None
    """IPv4 address of an endpoint's data port; None: the cloud chooses."""

    def port_name(self, port: str) -> str:
        """Name in neutron of one of `spec.ports`."""
        return f"{self.name}-{port}"


@dataclass(frozen=True)
class ExistingMachine:
    """A machine that the run uses but did not make."""

    name: str
    """Name of the endpoint: `client`, `server`."""
    address: str
    ssh_port: int
    ssh_user: str
    host_key: str
    key_file: Path
    interface: str
    port: str
    """Neutron port, name or id."""


@dataclass(frozen=True)
class ChainPlan:
    """The SFP in terms of machines."""

    client: str
    """Name of the client's machine."""
    server: str
    functions: tuple[str, ...]
    """Names of the machines, in forward order; at least one."""
    match: Match
    symmetric: bool
    """Whether replies cross the same functions in reverse order."""
    correlation: Correlation = "mpls"
    any_address: bool = False
    """Whether packets enter the chain whatever their addresses, unless `match` names some."""
