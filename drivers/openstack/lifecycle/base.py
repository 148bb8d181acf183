"""Lifecycle: who makes machines and chains, and what a driver may ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.base import Journal
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.names import Names
from sfcperf.drivers.openstack.model.specs import PREFIX_LENGTH, ChainPlan, MachinePlan
from sfcperf.plugins import Requirement

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud


@dataclass(frozen=True)
class Port:
    """A neutron port of a machine."""

    id: str
    mac: str
    """Lower case, with colons: by it the interface in the guest is found."""
    address: str
    """IPv4."""
    network_id: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine that the cloud calls ACTIVE; its guest may still be booting."""

    plan: MachinePlan
    server_id: str
    ports: Mapping[str, Port]
    """By `plan.MANAGEMENT`, `DATA`, `INGRESS`, `EGRESS`."""
    made_s: float
    """From the request until ACTIVE, seconds, as the caller saw it."""


@dataclass(frozen=True)
class Ground:
    """What machines stand on; made once per run, before any of them."""

    data_network_id: str
    data_subnet_id: str
    management_network_id: str
    key_name: str
    user_data: str
    """A `#!/bin/sh` script for all machines: it tells the console the host's SSH keys."""
    data_prefix_length: int = PREFIX_LENGTH
    """Of the data subnet."""
    guards: Mapping[str, str] = field(default_factory=dict)
    """Id of a network with port security -> id of the security group for ports in it; those of
    functions must besides be allowed to send packets of others."""


@dataclass(frozen=True)
class Workshop:
    """What a life cycle works with."""

    cloud: Cloud
    config: Config
    names: Names
    journal: Journal
    log: Callable[[str], None]


class Lifecycle(ABC):
    """Makes and removes machines and the chain. Whatever it makes is in the journal before, under
    a kind that `demolition` can remove, with a name that carries the run's tag.

    All methods may be called again after they failed: they find what is there and go on, so that a
    request whose answer was lost makes nothing twice.
    """

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop

    @classmethod
    @abstractmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """Services and extensions that the cloud must offer for this life cycle."""

    @abstractmethod
    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """Make all of them at the same time, and return when the cloud calls them ACTIVE; in the
        order of `plans`. Raises DeploymentError; what came up stays, for the next call."""

    @abstractmethod
    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Lead the client's packets through these machines (by name), and return when the cloud
        says that it does. Gives facts for the results: chain id, encapsulation between switches,
        parameters. There is one chain at a time; a standing one is replaced."""

    @abstractmethod
    def unchain(self) -> None:
        """Remove the chain; harmless when there is none."""

    @abstractmethod
    def remove(self, machines: Sequence[Machine]) -> None:
        """Remove machines with their ports. Harmless for those that are gone."""
