"""PolicyRoutingDriver: chains in network namespaces, by rules of the kernel's routing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.local import cleanup
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.management import health
from sfcperf.management.deployment import (
    Deployment,
    Endpoint,
    Hop,
    ServiceFunction,
    TraversalProof,
)
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario
from sfcperf_policy_routing import proof, validation
from sfcperf_policy_routing.layout import NODE, Cable, lay_out
from sfcperf_policy_routing.scenario_deployment import ScenarioDeployment


class PolicyRoutingDriver(Driver):
    """One namespace routes; each endpoint and function is a namespace beside it. Packets go from
    function to function by `ip rule`, as plain IP."""

    name = "policy-routing"
    title = "Network namespaces on this machine, chained by the kernel's policy routing"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "mtu": {
                "description": "MTU of all cables, bytes of IP packet.",
                "type": "integer",
                "minimum": 576,
                "maximum": 9000,
                "default": 1500,
            },
        },
    }

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._built: ScenarioDeployment | None = None
        """What exists now, complete or not; None: nothing."""
        self._identity = ""
        """Id of the deployment that exists now; empty: none is complete."""
        self._deployed = 0
        """Number of deployments so far."""

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """See Driver.requirements."""
        return [
            tools.root("makes network namespaces"),
            tools.tool("ip", "iproute2", ["ip", "-V"]),
            tools.tool("sysctl", "procps"),
            tools.tool("ping", "iputils-ping", ["ping", "-V"]),
        ]

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """See Driver.validate."""
        for scenario in scenarios:
            validation.validate(scenario)

    def deploy(self, scenario: Scenario) -> Deployment:
        """See Driver.deploy."""
        self.close()
        built = ScenarioDeployment(self.context, scenario, lay_out(scenario, self.context.tag))
        cleanup.check_free(built.resources)
        # Recorded before anything is made, so that `clean` can remove all that a killed run leaves.
        self.context.journal.intend(built.resources)
        self._built = built
        try:
            built.build()
        except MeasurementError as error:
            self.close()
            raise DeploymentError(error.message, where=error.where, hint=error.hint) from error
        except BaseException:
            self.close()
            raise
        self._deployed += 1
        self._identity = f"d{self._deployed:04d}-{scenario.id}"
        return _describe(self._identity, built)

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """See Driver.prove_traversal."""
        evidence = self.context.raw_dir / f"traversal-{deployment.id}.pcapng"
        return proof.prove(self._built_of(deployment).layout, scenario, evidence)

    def problems(self, deployment: Deployment) -> list[str]:
        """See Driver.problems."""
        return health.problems(deployment)

    def teardown(self, deployment: Deployment) -> None:
        """See Driver.teardown. An older deployment is gone already."""
        if deployment.id == self._identity:
            self.close()

    def close(self) -> None:
        """See Driver.close."""
        if self._built is None:
            return
        resources = self._built.resources
        cleanup.remove_resources(resources)
        # The processes are dead by now; this only reaps them.
        for running in self._built.running.values():
            running.stop()
        self._built, self._identity = None, ""
        self.context.journal.removed(resources)

    def facts(self) -> Mapping[str, Any]:
        """See Driver.facts."""
        return {"kernel": os.uname().release}

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """See Driver.undo."""
        return cleanup.remove_resources(resources, dry_run=dry_run)

    def _built_of(self, deployment: Deployment) -> ScenarioDeployment:
        """Return what was built for a deployment. Raises DeploymentError if it is gone."""
        if self._built is None or deployment.id != self._identity:
            raise DeploymentError(f"the deployment {deployment.id} does not exist any more")
        return self._built


def _describe(identity: str, built: ScenarioDeployment) -> Deployment:
    """Describe what was built, as probes and monitors see it."""
    layout = built.layout
    return Deployment(
        id=identity,
        client=_endpoint(built, layout.client),
        server=_endpoint(built, layout.server),
        functions=tuple(_function(built, function.spec.position) for function in layout.functions),
        hops=tuple(_hop(built, cable) for cable in layout.cables),
        meters=dict(built.groups),
        encapsulation="ip" if layout.functions else "none",
        facts=built.facts(),
    )


def _endpoint(built: ScenarioDeployment, cable: Cable) -> Endpoint:
    """Describe the endpoint at this cable."""
    name = cable.instance
    spec = built.scenario.client if name == "client" else built.scenario.server
    mtu = int(built.context.config["mtu"])
    address = built.layout.addresses[name]
    return Endpoint(name, spec.node, built.hosts[name], address, cable.inner, mtu)


def _function(built: ScenarioDeployment, position: int) -> ServiceFunction:
    """Describe the function at this position of the chain, from 1 on."""
    function = built.layout.functions[position - 1]
    spec, arms = function.spec, (function.ingress, function.egress)
    return built.running[spec.name].described(
        spec,
        built.hosts[spec.name],
        tuple(arm.inner for arm in arms),
        built.cpus.assigned[spec.name],
    )


def _hop(built: ScenarioDeployment, cable: Cable) -> Hop:
    """Describe the node's end of a cable as a hop; it has the name of its interface."""
    return Hop(cable.outer, built.hosts[NODE], cable.outer)
