"""NovaLifecycle: machines by nova and neutron one by one, the chain by networking-sfc."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.compute.servers import METADATA, BootingServers, Machine
from sfcperf.drivers.openstack.lifecycle import chaining
from sfcperf.drivers.openstack.lifecycle.base import Lifecycle
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.drivers.openstack.model.user_data import joined
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import Port, ensure_ports
from sfcperf.plugins import Requirement


class NovaLifecycle(Lifecycle):
    """Makes machines by nova and neutron, and the chain by networking-sfc. It needs no other
    service but glance, and no rights beyond those of the project."""

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """Require networking-sfc's extensions of neutron, `sfc` and `flow_classifier`, unless SFFs
        in the VMs make the chains."""
        return [] if config.overlay else chaining.requirements(cloud)

    def make(self, plans: Sequence[MachinePlan], networks: RunNetworks) -> list[Machine]:
        """Create each machine's ports in neutron and its server in nova, and wait until all servers
        are ACTIVE. Raises DeploymentError."""
        context, places = self.context, self.prepare(plans)
        made: dict[str, dict[str, Port]] = {}

        def request(plan: MachinePlan) -> dict[str, Any]:
            """Make a machine's ports, and return the body of the request for its server."""
            made[plan.name] = ensure_ports(context, plan, networks)
            place = places[plan.name]
            zone = {} if place.zone is None else {"availability_zone": place.zone}
            user_data = joined(networks.user_data, plan.spec.user_data)
            return {
                "name": plan.name,
                "image_id": place.image_id,
                "flavor_id": place.flavor_id,
                **zone,
                "key_name": networks.key_name,
                "user_data": b64encode(user_data.encode()).decode(),
                "config_drive": True,
                "metadata": {METADATA: context.names.tag},
                "networks": [{"port": port.id} for port in made[plan.name].values()],
            }

        booting = BootingServers(context, request)
        ids = booting.boot(plans)
        return [
            Machine(plan, ids[plan.name], made[plan.name], booting.made_s[plan.name])
            for plan in plans
        ]

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Create port pairs, port pair groups, a flow classifier and a port chain in
        networking-sfc, in place of an earlier chain."""
        return chaining.chain(self.context, plan, machines)

    def unchain(self) -> None:
        """Remove the port chain and the flow classifier; port pairs and groups stay with their
        machines."""
        chaining.unchain(self.context)
