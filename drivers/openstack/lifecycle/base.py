"""Lifecycle: what makes machines and chains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove_journaled
from sfcperf.drivers.openstack.compute.flavors import Flavors, Placement, placement
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext, NamedResource
from sfcperf.plugins import Requirement


class Lifecycle(ABC):
    """The services of a cloud by which machines and the chain are made and removed.

    CloudSession calls `make` for the machines that a scenario lacks, `chain` and `unchain` for each
    scenario, and `remove` for machines that are to be replaced.

    Each resource is journaled before it is made, under a `Kind`, with a name that carries the run's
    tag. A method that failed may be called again: it finds what is there and continues, so that a
    request whose answer was lost makes nothing twice.
    """

    def __init__(self, context: LifecycleContext) -> None:
        self.context = context
        self.flavors = Flavors(context.cloud)

    @classmethod
    @abstractmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """Services and extensions that the cloud must offer for this life cycle."""

    @abstractmethod
    def make(self, plans: Sequence[MachinePlan], networks: RunNetworks) -> list[Machine]:
        """Make all planned machines at the same time, and return them, in the order of `plans`,
        when the cloud calls them ACTIVE. Raises DeploymentError; what came up stays, for the next
        call."""

    @abstractmethod
    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Send the client's packets through these machines (by name), and return when the cloud
        says that the chain is made. Gives facts for the results: chain id, encapsulation between
        switches, parameters. There is one chain at a time: an earlier one is replaced."""

    @abstractmethod
    def unchain(self) -> None:
        """Remove the chain; harmless if there is none."""

    def remove(self, machines: Sequence[Machine]) -> None:
        """Remove machines with their ports. Harmless for those that are gone."""
        gone = [resource for machine in machines for resource in self.resources(machine.plan)]
        remove_journaled(self.context, self.context.entries(gone))

    def resources(self, plan: MachinePlan) -> list[NamedResource]:
        """Return all resources of a machine, as the journal has them."""
        return machine_resources(plan)

    def prepare(self, plans: Sequence[MachinePlan]) -> dict[str, Placement]:
        """Return name of the machine -> its image, flavor and place. All of these are found before
        any machine is made; then all resources of the machines are journaled."""
        places = {plan.name: placement(self.context, self.flavors, plan.spec) for plan in plans}
        self.context.intend(resource for plan in plans for resource in self.resources(plan))
        return places


def machine_resources(plan: MachinePlan) -> list[NamedResource]:
    """Return all resources that a machine has by itself, those for its part in chains too."""
    resources = [(Kind.PORT, plan.port_name(port)) for port in plan.spec.ports]
    resources.append((Kind.SERVER, plan.name))
    if plan.spec.has_port_pair:
        resources += [(Kind.PAIR, plan.name), (Kind.PAIR_GROUP, plan.name)]
    return resources
