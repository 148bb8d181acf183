"""NovaLifecycle: machines by nova and neutron one by one, the chain by networking-sfc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.cleanup import journal_cleanup
from sfcperf.drivers.openstack.compute import servers
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.placement import placement
from sfcperf.drivers.openstack.lifecycle import chaining
from sfcperf.drivers.openstack.lifecycle.base import Ground, Lifecycle, Machine, Port, Workshop
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.drivers.openstack.model.user_data import joined
from sfcperf.drivers.openstack.network import ports
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.plugins import Requirement

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud


class NovaLifecycle(Lifecycle):
    """Needs no service beside nova, neutron and glance, and no right beyond the project's."""

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self.flavors = Flavors(workshop.cloud)

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """See Lifecycle.requirements."""
        return chaining.requirements(cloud)

    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """See Lifecycle.make."""
        workshop = self.workshop
        # What is missing is found before anything is made.
        placed = {plan.shape: placement(workshop, self.flavors, plan.shape) for plan in plans}
        workshop.journal.intend([r for plan in plans for r in resources(workshop.cloud, plan)])
        made: dict[str, dict[str, Port]] = {}

        def request(plan: MachinePlan) -> dict[str, Any]:
            made[plan.name] = ports.ensure_ports(workshop, plan, ground)
            place = placed[plan.shape]
            zone = {} if place.zone is None else {"availability_zone": place.zone}
            return {
                "name": plan.name,
                "image_id": place.image_id,
                "flavor_id": place.flavor_id,
                **zone,
                "key_name": ground.key_name,
                "user_data": servers.encoded(joined(ground.user_data, plan.shape.user_data)),
                "config_drive": True,
                "metadata": {servers.METADATA: workshop.names.tag},
                "networks": [{"port": port.id} for port in made[plan.name].values()],
            }

        boots = servers.Boots(workshop, request)
        boots.start(plans)
        ids = boots.wait(plans)
        return [
            Machine(plan, ids[plan.name], made[plan.name], boots.made_s[plan.name])
            for plan in plans
        ]

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """See Lifecycle.chain."""
        return chaining.chain(self.workshop, plan, machines)

    def unchain(self) -> None:
        """See Lifecycle.unchain."""
        chaining.unchain(self.workshop)

    def remove(self, machines: Sequence[Machine]) -> None:
        """See Lifecycle.remove."""
        cloud = self.workshop.cloud
        gone = [r for machine in machines for r in resources(cloud, machine.plan)]
        journal_cleanup.remove(cloud, gone)
        self.workshop.journal.removed(gone)


def resources(cloud: Cloud, plan: MachinePlan) -> list[Resource]:
    """All that a machine is made of, its part in chains too."""
    names = [(Kind.PORT, ports.port_name(plan.name, role)) for role in ports.roles(plan)]
    names.append((Kind.SERVER, plan.name))
    if plan.shape.role == "function":
        names += [(Kind.PAIR, plan.name), (Kind.PAIR_GROUP, plan.name)]
    return [operations.resource(cloud, kind, name) for kind, name in names]
