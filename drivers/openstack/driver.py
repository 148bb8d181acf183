"""OpenStackDriver: chains of VMs by nova, neutron, and networking-sfc or SFFs in the VMs (paper,
sections IV and V)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.errors import SfcperfError
from sfcperf.management import health
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.management.observable import Observable
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.cloud_session import CloudSession
    from sfcperf.drivers.openstack.scenario_deployment import ScenarioDeployment

PING_TIMEOUT_S = 5


class OpenStackDriver(Driver):
    """Endpoints and functions are VMs, which scenarios share; networking-sfc chains them, or SFFs
    in the VMs."""

    # Methods import other modules when they run, so that commands without a cloud start fast.

    name = "openstack"
    title = "VMs on OpenStack, created by Nova or Tacker, chained by networking-sfc or own SFFs"
    parameters: ClassVar[Mapping[str, Any]] = PARAMETERS
    elsewhere: ClassVar[bool] = True

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self.config = Config(**context.config)
        self._deployments: dict[str, ScenarioDeployment] = {}
        self._suspect: set[str] = set()
        """Deployments whose machines may be at fault: their teardown removes these machines."""
        self._deployed = 0
        """How many deployments there were so far; it numbers their ids."""

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """Require credentials, the cloud's services, what the configuration names, the tools of the
        traversal proof and, with the chaining `overlay`, those of SFFs in VMs."""
        from sfcperf.drivers.openstack.compute import diagnostics
        from sfcperf.drivers.openstack.overlay.node import requirements as overlay_requirements
        from sfcperf.drivers.openstack.planning import requirements
        from sfcperf.drivers.openstack.traversal import proof

        settings = Config(**config)
        return [
            *requirements.requirements(settings),
            *diagnostics.requirements(settings),
            *proof.requirements(),
            *(overlay_requirements() if settings.overlay else ()),
        ]

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Raise WorkflowError for scenarios that VMs and their chaining cannot build, or would
        build alike."""
        from sfcperf.drivers.openstack.planning.validation import validate

        validate(scenarios, Config(**config))

    @classmethod
    def observable(cls, config: Mapping[str, Any], scenario: Scenario) -> Observable:
        """Return an empty Observable, because monitors see no SFF and no switch of the cloud. With
        the chaining `overlay`, SFFs count that are in the VMs."""
        if not Config(**config).overlay:
            return Observable()
        functions = (spec.name for spec in scenario.chain.functions)
        return Observable(counting_sffs=("client", "server", *functions))

    @classmethod
    def choices(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> list[str]:
        """Say which encapsulation each chain has, and why."""
        from sfcperf.drivers.openstack.planning import encapsulation

        settings = Config(**config)
        chains = (each for each in scenarios if each.chain.functions)
        return [f"encapsulation of {s.id}: {encapsulation.describe(s, settings)}" for s in chains]

    @classmethod
    def service_address(cls, config: Mapping[str, Any]) -> str | None:
        """Return the address from which this machine sends to the VMs' network. Raises
        EnvironmentLacks if it has no route there."""
        from sfcperf.drivers.openstack.network.service_address import service_address

        return service_address(Config(**config))

    @classmethod
    def check_capacity(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Check quotas, the right to read diagnostics, that networking-sfc knows NSH if a chain
        needs it, and that existing machines answer and have bound ports that no chain uses. Raises
        EnvironmentLacks, or InputError for a machine's unreadable key."""
        from sfcperf.drivers.openstack.api.cloud import Cloud
        from sfcperf.drivers.openstack.cleanup import workdirs
        from sfcperf.drivers.openstack.compute import diagnostics
        from sfcperf.drivers.openstack.lifecycle import chaining
        from sfcperf.drivers.openstack.planning import encapsulation
        from sfcperf.drivers.openstack.planning.machine_specs import (
            most_machines,
            scenario_machines,
        )
        from sfcperf.drivers.openstack.planning.quota import check_quota

        settings = Config(**config)
        needed = [scenario_machines(scenario, settings) for scenario in scenarios]
        existing = {machine for machines in needed for machine in machines.existing}
        with closing(Cloud(settings.cloud, lambda text: None)) as cloud:
            # Existing endpoints are in a network that is there.
            own_data = not all(machines.existing for machines in needed)
            check_quota(cloud, most_machines(needed), settings, own_data=own_data)
            diagnostics.check(cloud, settings, scenarios)
            if not settings.overlay:
                encapsulation.check_support(cloud, settings, scenarios)
            for machine in existing:
                chaining.check_unused(cloud, machine)
        for machine in existing:
            workdirs.check(machine)

    def deploy(self, scenario: Scenario) -> Deployment:
        """Take running VMs or make new ones, start the functions, and chain them. If that fails,
        remove the chain and stop the functions; if preparing the VMs failed, remove the VMs too."""
        from sfcperf.drivers.openstack.description import describe

        # What an earlier tear-down could not end would disturb the next scenario.
        for identity in list(self._deployments):
            self._remove(identity)
        self._deployed += 1
        identity = f"d{self._deployed:04d}-{scenario.id}"
        deployed = self._session.deploy(
            scenario,
            self.context.state_dir / "outputs" / identity,
            self.context.raw_dir / identity,
        )
        self._deployments[identity] = deployed
        try:
            deployed.prepare()
            self._session.chain(deployed)
        except BaseException as error:
            if isinstance(error, SfcperfError) and not deployed.ready:
                self._suspect.add(identity)
            # What cannot be removed now is tried again before the next deployment; the first error
            # is the one to raise.
            with suppress(SfcperfError):
                self._remove(identity)
            raise
        return describe(identity, deployed, self._session.diagnostics(deployed))

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """Send marked packets both ways and capture them in functions and endpoints, into
        `traversal-ID/`. If SFFs are in the VMs, send more without captures and compare counters. If
        packets miss the path, the teardown removes the VMs."""
        from sfcperf.drivers.openstack.traversal.proof import prove

        deployed = self._deployments[deployment.id]
        deployed.show_packets(True)
        try:
            proof = prove(
                deployment.client,
                deployment.server,
                deployment.functions,
                {name: deployed.endpoint_interface(name).mac for name in ("client", "server")},
                scenario,
                self.context.raw_dir / f"traversal-{deployment.id}",
                sff_ports={name: deployed.sff_ports(name) for name in deployed.functions},
            )
        finally:
            deployed.show_packets(False)
        if proof.proven and deployed.sffs:
            problems = deployed.cross_unshown(deployment)
            proof = replace(
                proof,
                proven=not problems,
                problems=tuple(problems),
                method=f"{proof.method}; without captures, the SFFs' counters",
            )
        if not proof.proven:
            self._suspect.add(deployment.id)
        return proof

    def problems(self, deployment: Deployment) -> list[str]:
        """List SFFs in VMs that do not forward, and functions that fail or, if none does, a server
        that the client cannot ping. If there are problems, the teardown removes the VMs."""
        found = [
            *self._deployments[deployment.id].problems(),
            *health.problems(deployment, timeout_s=PING_TIMEOUT_S, command_s=30),
        ]
        if found:
            self._suspect.add(deployment.id)
        return found

    def teardown(self, deployment: Deployment) -> None:
        """Remove the chain and stop the functions. VMs keep running for the next scenario, unless
        they may be at fault."""
        self._remove(deployment.id)

    def close(self) -> None:
        """Tear down all deployments, then remove everything in the cloud that the journal names;
        only the latter raises errors."""
        for identity in list(self._deployments):
            # Errors are ignored here: what does not end goes with its VM.
            with suppress(SfcperfError):
                self._remove(identity)
        self._deployments.clear()
        if "_session" in vars(self):
            self._session.close()

    def facts(self) -> Mapping[str, Any]:
        """Return the life cycle, and the cloud's name, region, project, version of nova's API and
        neutron extensions."""
        return self._session.facts()

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove the resources from the clouds that they name, and look again for those that appear
        late; with `dry_run`, only list them."""
        from sfcperf.drivers.openstack.cleanup.journal_cleanup import clean_up

        return clean_up(resources, dry_run=dry_run)

    @cached_property
    def _session(self) -> CloudSession:
        """What the run has in the cloud; made at the first use."""
        from sfcperf.drivers.openstack.cloud_session import CloudSession

        return CloudSession(self.context, self.config)

    def _remove(self, identity: str) -> None:
        """Remove the chain, stop the functions, and remove machines that may be at fault; do
        nothing if there is no deployment of this id. A function that does not stop makes its
        machines suspect. Raises DeploymentError; the deployment then stays, for another try."""
        deployed = self._deployments.get(identity)
        if deployed is None:
            return
        try:
            self._session.unchain()
        finally:
            try:
                deployed.stop()
            except SfcperfError:
                # What is left of a function would disturb the next one, so its machine is removed.
                self._suspect.add(identity)
        if identity in self._suspect:
            self._session.discard(deployed)
            self._suspect.remove(identity)
        del self._deployments[identity]
