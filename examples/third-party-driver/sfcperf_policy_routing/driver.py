"""PolicyRoutingDriver: chains in network namespaces, by rules of the kernel's routing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.local import demolition, network
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.management.deployment import (
    Deployment,
    Endpoint,
    Hop,
    ServiceFunction,
    TraversalProof,
)
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario
from sfcperf_policy_routing import admission, proof
from sfcperf_policy_routing.build import Site
from sfcperf_policy_routing.layout import NODE, Cable, lay_out

PING_TIMEOUT_S = 3


class PolicyRoutingDriver(Driver):
    """One namespace routes; each endpoint and function is a namespace beside it. Packets go from
    function to function by `ip rule`, as plain IP."""

    name = "policy-routing"
    title = "Linux namespaces on this machine, chained by the kernel's policy routing"
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
        # A signal that interrupts an import would leave half a module behind.
        network.load()
        self._site: Site | None = None
        self._standing = ""
        self._deployed = 0

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """See Driver.requirements."""
        return [
            tools.root("makes network namespaces"),
            tools.tool("ip", "iproute2", ["ip", "-V"]),
            tools.tool("sysctl", "procps"),
            tools.tool("ping", "iputils-ping", ["ping", "-V"]),
        ]

    def admit(self, scenarios: Sequence[Scenario]) -> None:
        """See Driver.admit."""
        for scenario in scenarios:
            admission.admit(scenario)

    def deploy(self, scenario: Scenario) -> Deployment:
        """See Driver.deploy."""
        self.close()
        site = Site(self.context, scenario, lay_out(scenario, self.context.tag))
        _check_free(site.resources)
        # Written down first; then a run that is killed leaves nothing that `clean` cannot remove.
        self.context.journal.intend(site.resources)
        self._site = site
        try:
            site.build()
        except MeasurementError as error:
            self.close()
            raise DeploymentError(error.message, where=error.where, hint=error.hint) from error
        except BaseException:
            self.close()
            raise
        self._deployed += 1
        self._standing = f"d{self._deployed:04d}-{scenario.id}"
        return _describe(self._standing, site)

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """See Driver.prove_traversal."""
        evidence = self.context.raw_dir / f"traversal-{deployment.id}.pcapng"
        return proof.prove(self._site_of(deployment).layout, scenario, evidence)

    def problems(self, deployment: Deployment) -> list[str]:
        """See Driver.problems."""
        found = [
            f"{function.name}: {problem}"
            for function in deployment.functions
            if (problem := function.alive()) is not None
        ]
        if not found:
            server = deployment.server.address
            # Until the first reply: a single lost packet is no illness.
            argv = ["ping", "-n", "-c", "1", "-w", str(PING_TIMEOUT_S), server]
            pinged = deployment.client.host.run(argv, timeout_s=PING_TIMEOUT_S + 2, check=False)
            if pinged.returncode != 0:
                found.append(f"the client does not reach the server at {server} by ping")
        return found

    def teardown(self, deployment: Deployment) -> None:
        """See Driver.teardown. An older deployment has gone already."""
        if deployment.id == self._standing:
            self.close()

    def close(self) -> None:
        """See Driver.close."""
        if self._site is None:
            return
        resources = self._site.resources
        demolition.demolish(resources)
        # They are dead by now; this only collects them.
        for running in self._site.running.values():
            running.stop()
        self._site, self._standing = None, ""
        self.context.journal.removed(resources)

    def facts(self) -> Mapping[str, Any]:
        """See Driver.facts."""
        return {"kernel": os.uname().release}

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """See Driver.undo."""
        return demolition.demolish(resources, dry_run=dry_run)

    def _site_of(self, deployment: Deployment) -> Site:
        if self._site is None or deployment.id != self._standing:
            raise DeploymentError(f"{deployment.id} does not stand any more")
        return self._site


def _describe(identity: str, site: Site) -> Deployment:
    """What was built, as probes and monitors see it."""
    layout = site.layout
    return Deployment(
        id=identity,
        client=_endpoint(site, layout.client),
        server=_endpoint(site, layout.server),
        functions=tuple(_function(site, function.spec.position) for function in layout.functions),
        hops=tuple(_hop(site, cable) for cable in layout.cables),
        meters=dict(site.groups),
        encapsulation="ip" if layout.functions else "none",
        facts=site.facts(),
    )


def _endpoint(site: Site, cable: Cable) -> Endpoint:
    name = cable.instance
    spec = site.scenario.client if name == "client" else site.scenario.server
    mtu = int(site.context.config["mtu"])
    address = site.layout.addresses[name]
    return Endpoint(name, spec.node, site.hosts[name], address, cable.inner, mtu)


def _function(site: Site, position: int) -> ServiceFunction:
    function = site.layout.functions[position - 1]
    spec, running = function.spec, site.running[function.spec.name]
    arms = (function.ingress, function.egress)
    return ServiceFunction(
        name=spec.name,
        vnf=spec.vnf,
        type=spec.type,
        position=spec.position,
        node=spec.node,
        host=site.hosts[spec.name],
        interfaces=tuple(arm.inner for arm in arms),
        nsh_aware=False,
        vcpus=site.cpus.assigned[spec.name],
        counters=running.counters,
        alive=running.problem,
        outer=tuple(_hop(site, arm) for arm in arms),
    )


def _hop(site: Site, cable: Cable) -> Hop:
    return Hop(cable.outer, site.hosts[NODE], cable.outer)


def _check_free(resources: Sequence[Resource]) -> None:
    """What is there already is not ours: it must not be removed when building fails."""
    names = [each.name for each in resources if each.kind == demolition.NAMESPACE]
    for name in names:
        if (NETNS_FOLDER / name).exists():
            raise DeploymentError(
                f"there is a network namespace {name} already, which this run has not made"
            )
