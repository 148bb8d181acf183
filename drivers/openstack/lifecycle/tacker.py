"""Life cycle by Tacker, the VNF manager and orchestrator of the paper's prototype (section V).

Functions are VNFs of Tacker, from their TOSCA descriptors; the chain is a VNF forwarding graph
where the server has those. Endpoints are no VNFs: nova makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.api.tacker_server import Dialect, Speech, TackerServer
from sfcperf.drivers.openstack.cleanup import journal_cleanup
from sfcperf.drivers.openstack.lifecycle import tacker_vim
from sfcperf.drivers.openstack.lifecycle.base import Ground, Lifecycle, Machine, Workshop
from sfcperf.drivers.openstack.lifecycle.nova import NovaLifecycle
from sfcperf.drivers.openstack.lifecycle.tacker_etsi import EtsiVnfs
from sfcperf.drivers.openstack.lifecycle.tacker_graph import Graph
from sfcperf.drivers.openstack.lifecycle.tacker_vnf import LegacyVnfs
from sfcperf.drivers.openstack.model.specs import ChainPlan, MachinePlan
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud
    from sfcperf.drivers.openstack.model.config import Config


class TackerLifecycle(Lifecycle):
    """Finds out what the server speaks: the legacy API with forwarding graphs, or ETSI's alone."""

    def __init__(self, workshop: Workshop, dialect: Dialect | None = None) -> None:
        """`dialect`: one that the server has is used; None: the better one."""
        super().__init__(workshop)
        self.server = TackerServer(workshop.cloud)
        self.nova = NovaLifecycle(workshop)
        self.graph = Graph(workshop)
        self._dialect = dialect
        self._speech: Speech | None = None

    @classmethod
    def requirements(cls, cloud: Cloud, config: Config) -> list[Requirement]:
        """See Lifecycle.requirements."""
        server = TackerServer(cloud)
        try:
            speech = server.speech()
        except EnvironmentLacks as error:
            return [Requirement("tacker", False, error.message, error.hint or "")]
        if speech.dialect is None:
            remedy = "a Tacker with VNF forwarding graphs (up to 2023.2) or vnflcm 2 is needed"
            return [Requirement("tacker", False, speech.words, remedy)]
        return [
            Requirement("tacker", True, speech.words),
            _vim_requirement(server),
            *NovaLifecycle.requirements(cloud, config),
        ]

    def make(self, plans: Sequence[MachinePlan], ground: Ground) -> list[Machine]:
        """See Lifecycle.make."""
        endpoints = [plan for plan in plans if plan.shape.role == "endpoint"]
        functions = [plan for plan in plans if plan.shape.role == "function"]
        actions = []
        if endpoints:
            actions.append(lambda: self.nova.make(endpoints, ground))
        if functions:
            vnfs = self._vnfs()
            actions.append(lambda: vnfs.make(functions, ground))
        made = {machine.plan.name: machine for part in each(*actions) for machine in part}
        return [made[plan.name] for plan in plans]

    def chain(self, plan: ChainPlan, machines: Mapping[str, Machine]) -> Mapping[str, Any]:
        """See Lifecycle.chain."""
        if self.dialect == "legacy":
            facts = self.graph.stand(plan, machines)
        else:
            self.workshop.log(
                "openstack: this Tacker has no VNF forwarding graphs; the chain is made by "
                "networking-sfc without it"
            )
            facts = self.nova.chain(plan, machines)
        return {**facts, "tacker": self.speech.words, "tacker_api": self.dialect}

    def unchain(self) -> None:
        """See Lifecycle.unchain."""
        self.graph.remove()
        self.nova.unchain()

    def remove(self, machines: Sequence[Machine]) -> None:
        """See Lifecycle.remove. A chain goes first: Tacker finds a graph's cloud by its VNFs."""
        self.unchain()
        vnfs = self._vnfs()
        functions = [m.plan for m in machines if m.plan.shape.role == "function"]
        gone = [resource for plan in functions for resource in vnfs.made(plan)]
        journal_cleanup.remove(self.workshop.cloud, gone)
        self.workshop.journal.removed(gone)
        self.nova.remove([m for m in machines if m.plan.shape.role == "endpoint"])

    @property
    def speech(self) -> Speech:
        """What the server understands; asked once."""
        if self._speech is None:
            self._speech = self.server.speech()
            self.workshop.log(f"openstack: Tacker speaks: {self._speech.words}")
        return self._speech

    @property
    def dialect(self) -> Dialect:
        """The API that is used. Raises EnvironmentLacks when the server has neither."""
        if self._dialect is None:
            self._dialect = self.speech.dialect
        if self._dialect is None:
            raise EnvironmentLacks(
                f"this Tacker cannot be used: {self.speech.words}",
                hint="a Tacker with VNF forwarding graphs (up to 2023.2) or vnflcm 2 is needed; "
                "the life cycles nova and heat need none",
            )
        return self._dialect

    def _vnfs(self) -> LegacyVnfs | EtsiVnfs:
        kind = LegacyVnfs if self.dialect == "legacy" else EtsiVnfs
        return kind(self.workshop, self.nova.flavors)


def _vim_requirement(server: TackerServer) -> Requirement:
    """A VIM for the project, or what is needed to register one."""
    project = tacker_vim.Project.of(server.cloud)
    known = tacker_vim.standing(server, project)
    if known is not None:
        return Requirement("tacker VIM", True, f"{known['name']}, {known.get('status')}")
    if project.password is not None:
        return Requirement("tacker VIM", True, "none for the project: one is registered per run")
    return Requirement(
        "tacker VIM",
        False,
        f"none for the project {project.project}, and without a password none can be registered",
        "have the cloud's operator register one, or sign in with a password",
    )
