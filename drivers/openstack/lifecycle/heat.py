"""HeatLifecycle: each machine is a stack of heat, and so is the chain.

One stack per machine, so that machines are kept and removed one by one, and the failure of one
affects no other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import json_of
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove_journaled
from sfcperf.drivers.openstack.compute.flavors import Placement
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import chaining, heat_stack, heat_template
from sfcperf.drivers.openstack.lifecycle.base import Lifecycle
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import EGRESS, INGRESS, ChainPlan, MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.network.ports import Port
from sfcperf.drivers.openstack.resources.context import Kind, NamedResource
from sfcperf.drivers.parallel import each
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.plugins import Requirement

SERVICE = "orchestration"
RESOURCE_TYPES = (
    "OS::Nova::Server",
    "OS::Neutron::Port",
    "OS::Neutron::PortPair",
    "OS::Neutron::PortPairGroup",
    "OS::Neutron::FlowClassifier",
    "OS::Neutron::PortChain",
)
CHAIN_TIMEOUT_S = 120.0


class HeatLifecycle(Lifecycle):
    """Machines and chain as stacks, named `sfcperf-TAG-01-fwd` and `sfcperf-TAG-chain`."""

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """See Lifecycle.requirements."""
        return [Requirement.found("heat", lambda: _offer(cloud))]

    def make(self, plans: Sequence[MachinePlan], networks: RunNetworks) -> list[Machine]:
        """See Lifecycle.make."""
        places = self.prepare(plans)
        return each(*(partial(self._make, plan, networks, places[plan.name]) for plan in plans))

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """See Lifecycle.chain."""
        cloud = self.context.cloud
        classifier = chaining.classifier_of(plan, machines)
        functions = {
            name: (machines[name].ports[INGRESS].id, machines[name].ports[EGRESS].id)
            for name in plan.functions
        }
        template = heat_template.chain(
            functions, classifier, symmetric=plan.symmetric, name=self.context.names.run
        )
        self.context.intend(self._chain_resources())
        heat_stack.remove(cloud, self._chain_stack)
        outputs = heat_stack.ensure_stack(cloud, self._chain_stack, template, CHAIN_TIMEOUT_S)
        return chaining.facts(
            str(outputs["chain"]), "networking-sfc, by heat", "mpls", plan.symmetric, classifier
        )

    def unchain(self) -> None:
        """See Lifecycle.unchain."""
        remove_journaled(self.context, self.context.entries(self._chain_resources()))

    def remove(self, machines: Sequence[Machine]) -> None:
        """See Lifecycle.remove. A chain goes first, because it holds their ports."""
        self.unchain()
        super().remove(machines)

    def resources(self, plan: MachinePlan) -> list[NamedResource]:
        """The stack, and what is in it: a stack that fails leaves resources behind."""
        return [(Kind.STACK, plan.name), *super().resources(plan)]

    @property
    def _chain_stack(self) -> str:
        return self.context.names.of("chain")

    def _chain_resources(self) -> list[NamedResource]:
        return [(Kind.STACK, self._chain_stack), *chaining.chain_resources(self.context)]

    def _make(self, plan: MachinePlan, networks: RunNetworks, place: Placement) -> Machine:
        cloud, timeout_s = self.context.cloud, self.context.config.boot_timeout_s
        template = heat_template.machine(plan, networks, place, self.context.names.tag)
        started = time.monotonic()
        try:
            outputs = heat_stack.ensure_stack(cloud, plan.name, template, timeout_s)
        except heat_stack.StackFailed as error:
            # The next try may find another hypervisor.
            cloud.log(f"openstack: {error.message}; trying again")
            outputs = heat_stack.ensure_stack(cloud, plan.name, template, timeout_s)
        ports = {port: _port(plan, port, outputs[port]) for port in plan.spec.ports}
        return Machine(plan, outputs[heat_template.SERVER], ports, time.monotonic() - started)


def _port(plan: MachinePlan, port: str, output: Sequence[str]) -> Port:
    identity, mac, address, network = output
    if not address:
        raise DeploymentError(
            f"the cloud assigned no address to the port {plan.port_name(port)}",
            hint="does the network have an IPv4 subnet?",
        )
    return Port(identity, mac.lower(), address, network)


def _offer(cloud: Cloud) -> str:
    """What heat offers. Raises EnvironmentLacks if that does not suffice."""
    if not cloud.offers(SERVICE):
        raise EnvironmentLacks(
            f"no endpoint of type {SERVICE} in the cloud's catalogue",
            hint="use the life cycle nova, which does not need Heat",
        )
    known = cloud.call("listing heat's resource types", lambda: _listed(cloud, "resource_types"))
    versions = cloud.call("listing heat's versions", lambda: _template_versions(cloud))
    if heat_template.VERSION not in versions:
        raise EnvironmentLacks(
            f"Heat supports templates up to version {max(versions, default='none')}, but sfcperf "
            f"needs {heat_template.VERSION}",
            hint="use a cloud of Rocky (2018) or later, or the life cycle nova",
        )
    missing = ", ".join(name for name in RESOURCE_TYPES if name not in known)
    if missing:
        raise EnvironmentLacks(
            f"Heat does not offer {missing} to this project",
            hint="Heat hides the types of missing services: the cloud needs networking-sfc",
        )
    return f"{len(known)} resource types, PortChain too"


def _template_versions(cloud: Cloud) -> set[str]:
    """Dates of the template language that heat knows, `2018-08-31`."""
    names = (each["version"].split(".", 1) for each in _listed(cloud, "template_versions"))
    return {date for kind, date in names if kind == "heat_template_version"}


def _listed(cloud: Cloud, what: str) -> list[Any]:
    """openstacksdk has no call for these."""
    listed: list[Any] = json_of(cloud.connection.orchestration.get(f"/{what}"))[what]
    return listed
