"""TackerLifecycle: by the VNF manager and orchestrator of the paper's prototype (section V).

Functions are VNFs of Tacker, from their TOSCA descriptors; the chain is a VNF forwarding graph if
the server has those. Endpoints are no VNFs: nova makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerApi, TackerServer, TackerVersions
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove_journaled
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import tacker_vim
from sfcperf.drivers.openstack.lifecycle.base import Lifecycle
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.lifecycle.tacker_etsi import EtsiVnfs
from sfcperf.drivers.openstack.lifecycle.tacker_graph import ForwardingGraph
from sfcperf.drivers.openstack.lifecycle.tacker_vnfs import LegacyVnfs, TackerVnfs
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.drivers.parallel import each
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement

NEEDED = "a Tacker with VNF forwarding graphs (up to 2023.2) or vnflcm 2 is needed"


class TackerLifecycle(Lifecycle):
    """Makes functions as VNFs of Tacker: by the legacy API with forwarding graphs if the server has
    it, else by ETSI's."""

    def __init__(self, context: LifecycleContext, api: TackerApi | None = None) -> None:
        """`api`: one that the server has; None: the better one."""
        super().__init__(context)
        self.server = TackerServer(context.cloud)
        self.nova = NovaLifecycle(context)
        self.graph = ForwardingGraph(context)
        self._api = api

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """Require a Tacker with an API that can be used, a VIM or the means to register one, and
        what NovaLifecycle requires."""
        server = TackerServer(cloud)

        def look() -> str:
            versions = server.versions()
            if versions.best is None:
                raise EnvironmentLacks(str(versions), hint=NEEDED)
            return str(versions)

        need = Requirement.found("tacker", look)
        if not need.met:
            return [need]
        return [need, _vim_requirement(server), *NovaLifecycle.requirements(cloud, config)]

    def make(self, plans: Sequence[MachinePlan], networks: RunNetworks) -> list[Machine]:
        """Make the endpoints by nova and the functions as VNFs by Tacker, all at the same time.
        Raises DeploymentError."""
        endpoints = [plan for plan in plans if plan.spec.role == "endpoint"]
        functions = [plan for plan in plans if plan.spec.role == "function"]
        actions = []
        if endpoints:
            actions.append(lambda: self.nova.make(endpoints, networks))
        if functions:
            vnfs = self._vnfs()
            actions.append(lambda: vnfs.make(functions, networks))
        made = {machine.plan.name: machine for part in each(*actions) for machine in part}
        return [made[plan.name] for plan in plans]

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """Create a VNF forwarding graph if the legacy API is used; ETSI's has none, and
        networking-sfc makes the chain."""
        if self.api == "legacy":
            facts = self.graph.create(plan, machines)
        else:
            self.context.cloud.log(
                "openstack: this Tacker has no VNF forwarding graphs; networking-sfc makes the "
                "chain without it"
            )
            facts = self.nova.chain(plan, machines)
        return {**facts, "tacker": str(self.versions), "tacker_api": self.api}

    def unchain(self) -> None:
        """Remove the forwarding graph, then the chain and classifier of networking-sfc."""
        self.graph.remove()
        self.nova.unchain()

    def remove(self, machines: Sequence[Machine]) -> None:
        """Remove the chain, then VNFs and endpoints. The chain goes first because Tacker finds a
        graph's cloud by the graph's VNFs."""
        self.unchain()
        vnfs = self._vnfs()
        functions = [m.plan for m in machines if m.plan.spec.role == "function"]
        gone = [resource for plan in functions for resource in vnfs.made_resources(plan)]
        remove_journaled(self.context, self.context.entries(gone))
        self.nova.remove([m for m in machines if m.plan.spec.role == "endpoint"])

    @cached_property
    def versions(self) -> TackerVersions:
        """The APIs of the server, which is asked once."""
        versions = self.server.versions()
        self.context.cloud.log(f"openstack: Tacker offers: {versions}")
        return versions

    @property
    def api(self) -> TackerApi:
        """The API that is used. Raises EnvironmentLacks if the server has neither."""
        api = self._api or self.versions.best
        if api is None:
            raise EnvironmentLacks(
                f"this Tacker cannot be used: {self.versions}",
                hint=f"{NEEDED}; the life cycle nova needs none",
            )
        return api

    def _vnfs(self) -> TackerVnfs:
        """Return what makes functions by the API that is used."""
        kind = LegacyVnfs if self.api == "legacy" else EtsiVnfs
        return kind(self.context, self.nova.flavors)


def _vim_requirement(server: TackerServer) -> Requirement:
    """Require a VIM for the project, or what is needed to register one."""
    project = tacker_vim.Project.of(server.cloud)
    known = tacker_vim.find_vim(server, project)
    if known is not None:
        return Requirement("tacker VIM", True, f"{known['name']}, {known.get('status')}")
    if project.password is not None:
        return Requirement("tacker VIM", True, "none for the project: one is registered per run")
    return Requirement(
        "tacker VIM",
        False,
        f"none for the project {project.name}, and without a password none can be registered",
        "ask the cloud's operator to register one, or sign in with a password",
    )
