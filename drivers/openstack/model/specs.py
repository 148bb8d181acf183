"""What a scenario needs of a cloud, before anything is made: machines, and a chain through them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfcperf.workflow.model import Match

MANAGEMENT = "management"
"""Port by which a machine is reached."""
DATA = "data"
"""An endpoint's port in the data network."""
PREFIX_LENGTH = 24
"""Of the data network that a run makes, which holds both endpoints and all functions."""
INGRESS, EGRESS = "in", "out"
"""A function's ports in the data network: its port pair."""


@dataclass(frozen=True)
class Shape:
    """What one machine must have to stand in for another: machines of the same shape are reused
    between scenarios, because booting one costs more than a trial."""

    role: Literal["endpoint", "function"]
    vnf: str
    """Name of the VNF in the workflow; of an endpoint its own (`client`, `server`)."""
    type: str
    """VNF type; `endpoint`."""
    image: str
    """Name or id."""
    flavor: str | None
    """Name or id; None: the smallest that has the next two."""
    vcpus: int
    memory_mib: int
    """At least; 0 each where a flavor is named and the workflow asks for no size."""
    hypervisor: str | None
    """Host of the cloud; None: wherever it likes."""
    vnfd: Path | None
    """TOSCA descriptor, for Tacker; None: of an endpoint."""
    user_data: str | None = None
    """The descriptor's own, for cloud-init."""

    @property
    def ports(self) -> tuple[str, ...]:
        """Ports beside the management port, in the order of the machine's interfaces."""
        return (INGRESS, EGRESS) if self.role == "function" else (DATA,)


@dataclass(frozen=True)
class MachinePlan:
    """A machine to be made."""

    name: str
    """Unique in the cloud, carries the run's tag: `sfcperf-TAG-01-fwd`."""
    shape: Shape
    address: str | None
    """IPv4 address of an endpoint's data port; None: the cloud chooses."""


@dataclass(frozen=True)
class ChainPlan:
    """The SFP in terms of machines."""

    client: str
    """Names of the machines, or ids of neutron ports for endpoints that were there before."""
    server: str
    functions: tuple[str, ...]
    """Names of the machines, in forward order; at least one."""
    match: Match
    symmetric: bool
    """Replies cross the same functions in reversed order."""
