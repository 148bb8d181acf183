"""Life cycle by heat: each machine is a stack, and so is the chain.

A stack per machine, so that machines are kept and removed one by one and a failure of one spoils no
other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.cleanup import journal_cleanup
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.placement import Placement, placement
from sfcperf.drivers.openstack.lifecycle import chaining, heat_stack, heat_template, nova
from sfcperf.drivers.openstack.lifecycle.base import Ground, Lifecycle, Machine, Port, Workshop
from sfcperf.drivers.openstack.model.specs import EGRESS, INGRESS, ChainPlan, MachinePlan
from sfcperf.drivers.openstack.network import ports
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError
from sfcperf.plugins import Requirement

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud
    from sfcperf.drivers.openstack.model.config import Config

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

THINGS = {Kind.STACK: heat_stack.THING}
"""For `things` and demolition."""


class HeatLifecycle(Lifecycle):
    """Machines and chain as stacks, named `sfcperf-TAG-01-fwd` and `sfcperf-TAG-chain`."""

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """See Lifecycle.requirements."""
        if not cloud.offers(SERVICE):
            missing = f"no endpoint of type {SERVICE} in the cloud's catalogue"
            remedy = "use the life cycle nova, which needs no heat"
            return [Requirement("heat", False, missing, remedy)]
        known = cloud.call("listing heat's resource types", lambda: _resource_types(cloud))
        spoken = cloud.call("listing heat's versions", lambda: _template_versions(cloud))
        if heat_template.VERSION not in spoken:
            return [
                Requirement(
                    "heat",
                    False,
                    f"heat knows templates up to {max(spoken, default='none')}, and ours are of "
                    f"{heat_template.VERSION}",
                    "a cloud of Rocky (2018) or later, or the life cycle nova",
                )
            ]
        lacking = [name for name in RESOURCE_TYPES if name not in known]
        if not lacking:
            return [Requirement("heat", True, f"{len(known)} resource types, PortChain too")]
        return [
            Requirement(
                "heat",
                False,
                f"heat offers this project no {', '.join(lacking)}",
                "heat hides the types of services that the cloud lacks: networking-sfc has to be "
                "there",
            )
        ]

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self.flavors = Flavors(workshop.cloud)

    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """See Lifecycle.make."""
        places = {plan.name: placement(self.workshop, self.flavors, plan.shape) for plan in plans}
        self.workshop.journal.intend([r for plan in plans for r in self._resources(plan)])
        return each(*(partial(self._machine, plan, ground, places[plan.name]) for plan in plans))

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """See Lifecycle.chain."""
        cloud, run = self.workshop.cloud, self.workshop.names.run
        classifier = chaining.classifier_of(plan, machines)
        functions = {
            name: (machines[name].ports[INGRESS].id, machines[name].ports[EGRESS].id)
            for name in plan.functions
        }
        template = heat_template.chain(functions, classifier, symmetric=plan.symmetric, name=run)
        self.workshop.journal.intend(self._chain_resources())
        heat_stack.remove(cloud, self._chain_stack)
        outputs = heat_stack.bring(cloud, self._chain_stack, template, CHAIN_TIMEOUT_S)
        return {
            "chain": str(outputs["chain"]),
            "chained_by": "networking-sfc, by heat",
            "correlation": "mpls",
            "symmetric": plan.symmetric,
            "classifier": {k: v for k, v in classifier.items() if not k.startswith("logical_")},
        }

    def unchain(self) -> None:
        """See Lifecycle.unchain."""
        gone = self._chain_resources()
        journal_cleanup.remove(self.workshop.cloud, gone)
        self.workshop.journal.removed(gone)

    def remove(self, machines: Sequence[Machine]) -> None:
        """See Lifecycle.remove. A chain through one of them goes first: it holds their ports."""
        self.unchain()
        gone = [r for machine in machines for r in self._resources(machine.plan)]
        journal_cleanup.remove(self.workshop.cloud, gone)
        self.workshop.journal.removed(gone)

    @property
    def _chain_stack(self) -> str:
        return self.workshop.names.of("chain")

    def _resources(self, plan: MachinePlan) -> list[Resource]:
        """The stack, and what is in it: a stack that breaks leaves things behind."""
        cloud = self.workshop.cloud
        return [
            operations.resource(cloud, Kind.STACK, plan.name),
            *nova.resources(cloud, plan),
        ]

    def _chain_resources(self) -> list[Resource]:
        cloud, run = self.workshop.cloud, self.workshop.names.run
        return [
            operations.resource(cloud, Kind.STACK, self._chain_stack),
            *(operations.resource(cloud, kind, run) for kind in (Kind.CLASSIFIER, Kind.CHAIN)),
        ]

    def _machine(self, plan: MachinePlan, ground: Ground, place: Placement) -> Machine:
        cloud, timeout_s = self.workshop.cloud, self.workshop.config.boot_timeout_s
        template = heat_template.machine(plan, ground, place, self.workshop.names.tag)
        started = time.monotonic()
        try:
            outputs = heat_stack.bring(cloud, plan.name, template, timeout_s)
        except heat_stack.StackFailed as error:
            # Another try may find another hypervisor.
            self.workshop.log(f"openstack: {error.message}; a second try")
            outputs = heat_stack.bring(cloud, plan.name, template, timeout_s)
        own = {role: _port(plan, role, outputs[role]) for role in ports.roles(plan)}
        return Machine(plan, outputs[heat_template.SERVER], own, time.monotonic() - started)


def _port(plan: MachinePlan, role: str, told: Sequence[str]) -> Port:
    identity, mac, address, network = told
    if not address:
        raise DeploymentError(
            f"the cloud gave the port {ports.port_name(plan.name, role)} no address",
            hint="does the network have an IPv4 subnet?",
        )
    return Port(identity, mac.lower(), address, network)


def _resource_types(cloud: Cloud) -> set[str]:
    """Names of the types that heat offers this project."""
    return set(_listed(cloud, "resource_types"))


def _template_versions(cloud: Cloud) -> set[str]:
    """Dates of the template language that heat knows, `2018-08-31`."""
    names = (each["version"].split(".", 1) for each in _listed(cloud, "template_versions"))
    return {date for kind, date in names if kind == "heat_template_version"}


def _listed(cloud: Cloud, what: str) -> list[Any]:
    """openstacksdk has no call for these."""
    from openstack.exceptions import raise_from_response

    answer: Any = cloud.connection.orchestration.get(f"/{what}")
    raise_from_response(answer)
    listed: list[Any] = answer.json()[what]
    return listed
