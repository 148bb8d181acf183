"""OpenStackDriver: chains of VMs by nova, neutron and networking-sfc (paper, sections IV and V)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.errors import SfcperfError
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.cloud_session import Region
    from sfcperf.drivers.openstack.scenario_deployment import Site

PING_TIMEOUT_S = 5


class OpenStackDriver(Driver):
    """Endpoints and functions are VMs, kept from one scenario to the next; the cloud chains them.

    openstacksdk takes half a second to import: it comes with the first use of the cloud.
    """

    name = "openstack"
    title = "VMs on OpenStack, chained by networking-sfc; life cycle by nova, heat or Tacker"
    parameters: ClassVar[Mapping[str, Any]] = PARAMETERS
    elsewhere: ClassVar[bool] = True

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self.config = Config.of(context.config)
        self._sites: dict[str, Site] = {}
        self._doubted: set[str] = set()
        """Deployments whose machines may be ill."""
        self._deployed = 0

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """See Driver.requirements."""
        from sfcperf.drivers.openstack.compute import diagnostics
        from sfcperf.drivers.openstack.planning import requirements
        from sfcperf.drivers.openstack.traversal import proof

        ours = Config.of(config)
        return [
            *requirements.requirements(ours),
            *diagnostics.requirements(ours),
            *proof.requirements(),
        ]

    def admit(self, scenarios: Sequence[Scenario]) -> None:
        """See Driver.admit."""
        from sfcperf.drivers.openstack.planning.validation import admit

        admit(scenarios, self.config)

    def afford(self, scenarios: Sequence[Scenario]) -> None:
        """See Driver.afford."""
        from sfcperf.drivers.openstack.api.cloud import Cloud
        from sfcperf.drivers.openstack.cleanup import workdirs
        from sfcperf.drivers.openstack.compute import diagnostics
        from sfcperf.drivers.openstack.network import ports
        from sfcperf.drivers.openstack.planning import requirements
        from sfcperf.drivers.openstack.planning.machine_specs import most, needs

        asked = [needs(scenario, self.config) for scenario in scenarios]
        standing = {one for each in asked for one in each.standing}
        with closing(Cloud(self.config.cloud, self.context.log)) as cloud:
            requirements.check_quota(cloud, requirements.needs_of(most(asked), self.config))
            diagnostics.check(cloud, self.config, scenarios)
            for one in standing:
                ports.bound_port(cloud, one.port)
        for one in standing:
            workdirs.check(one)

    def deploy(self, scenario: Scenario) -> Deployment:
        """See Driver.deploy."""
        from sfcperf.drivers.openstack.description import describe

        # What an earlier tear-down could not end is in the way of the next scenario.
        for identity in list(self._sites):
            self._remove(identity)
        self._deployed += 1
        identity = f"d{self._deployed:04d}-{scenario.id}"
        site = self._region.site(scenario, self.context.state_dir / "outputs" / identity)
        self._sites[identity] = site
        try:
            site.prepare()
            self._region.chain(site)
        except BaseException as error:
            if isinstance(error, SfcperfError) and not site.ready:
                self._doubted.add(identity)
            # What cannot be removed now is tried again before the next one; why it failed counts.
            with suppress(SfcperfError):
                self._remove(identity)
            raise
        return describe(identity, site, self._region.diagnostics(site))

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """See Driver.prove_traversal."""
        from sfcperf.drivers.openstack.model.specs import DATA
        from sfcperf.drivers.openstack.traversal.proof import prove

        site = self._sites[deployment.id]
        macs = {
            "client": (site.client.port(DATA).mac,),
            "server": (site.server.port(DATA).mac,),
        }
        folder = self.context.raw_dir / f"traversal-{deployment.id}"
        proof = prove(
            deployment.client, deployment.server, deployment.functions, macs, scenario, folder
        )
        if not proof.proven:
            self._doubted.add(deployment.id)
        return proof

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
            argv = ["ping", "-n", "-c", "1", "-i", "0.2", "-w", str(PING_TIMEOUT_S), server]
            host = deployment.client.host
            pinged = host.run(argv, timeout_s=PING_TIMEOUT_S + 30, check=False)
            if pinged.returncode != 0:
                found.append(f"the client does not reach the server at {server} by ping")
        if found:
            self._doubted.add(deployment.id)
        return found

    def teardown(self, deployment: Deployment) -> None:
        """The chain goes, functions end; VMs stand for the next scenario."""
        self._remove(deployment.id)

    def close(self) -> None:
        """See Driver.close."""
        for identity in list(self._sites):
            # What does not end goes with the VM that it is in.
            with suppress(SfcperfError):
                self._remove(identity)
        self._sites.clear()
        if "_region" in vars(self):
            self._region.close()

    def facts(self) -> Mapping[str, Any]:
        """See Driver.facts."""
        return self._region.facts()

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """See Driver.undo."""
        from sfcperf.drivers.openstack.cleanup.journal_cleanup import demolish

        return demolish(resources, dry_run=dry_run)

    @cached_property
    def _region(self) -> Region:
        from sfcperf.drivers.openstack.cloud_session import Region

        return Region(self.context, self.config)

    def _remove(self, identity: str) -> None:
        site = self._sites.get(identity)
        if site is None:
            return
        try:
            self._region.unchain()
        finally:
            try:
                site.stop()
            except SfcperfError:
                # What is left of a function would meet the next one.
                self._doubted.add(identity)
        if identity in self._doubted:
            self._region.discard(site)
            self._doubted.remove(identity)
        del self._sites[identity]
