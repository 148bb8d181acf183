"""LocalDriver: chains in network namespaces of this machine, the embedded infrastructure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.local import cgroups, demolition, network, openvswitch, traversal
from sfcperf.drivers.local.admission import admit
from sfcperf.drivers.local.build import Site
from sfcperf.drivers.local.cpus import CpuAssignment, machine_cpus
from sfcperf.drivers.local.describe import describe
from sfcperf.drivers.local.layout import GPE_OVERHEAD, WIRE_MTU, lay_out
from sfcperf.environment import tools
from sfcperf.errors import DeploymentError, EnvironmentLacks, MeasurementError
from sfcperf.hosts.local import LocalHost
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario

PING_TIMEOUT_S = 3


class LocalDriver(Driver):
    """Nodes, endpoints and VNFs are namespaces; each node has an SFF of its own."""

    name = "local"
    title = "Linux namespaces on this machine, with Open vSwitch in userspace as SFF"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "dataplane": {
                "description": "What classifies and forwards: Open vSwitch's userspace datapath.",
                "enum": ["ovs"],
                "default": "ovs",
            },
            "mtu": {
                "description": "MTU of the endpoints, bytes of IP packet; with the largest "
                "encapsulation it still fits into 1500 bytes on every link.",
                "type": "integer",
                "minimum": 576,
                "maximum": WIRE_MTU - GPE_OVERHEAD,
                "default": 1400,
            },
        },
    }

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        network.load()
        self._sites: dict[str, Site] = {}
        self._deployed = 0

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """See Driver.requirements."""
        package = "openvswitch-switch"
        return [
            tools.root("makes network namespaces"),
            tools.tool("ovs-vswitchd", package, ["ovs-vswitchd", "--version"]),
            *(
                tools.tool(name, package)
                for name in ("ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
            ),
            tools.tool("ip", "iproute2", ["ip", "-V"]),
            tools.tool("ping", "iputils-ping", ["ping", "-V"]),
            _file(openvswitch.SCHEMA, f"install the package {package}"),
            _file(
                Path("/dev/net/tun"), "load the kernel module tun, or give the container the device"
            ),
            _cgroups(),
        ]

    def admit(self, scenarios: Sequence[Scenario]) -> None:
        """See Driver.admit."""
        for scenario in scenarios:
            admit(scenario, lay_out(scenario, self.context.tag))

    def deploy(self, scenario: Scenario) -> Deployment:
        """See Driver.deploy."""
        self._prepare_database()
        self._remove_what_stayed()
        layout = lay_out(scenario, self.context.tag)
        site = Site(self.context, scenario, layout, cgroups.this_machine())
        _check_free(site.resources)
        self._deployed += 1
        identity = f"d{self._deployed:04d}-{scenario.id}"
        self._sites[identity] = site
        self.context.journal.intend(site.resources)
        try:
            site.build(CpuAssignment(scenario.topology.nodes, machine_cpus()))
        except MeasurementError as error:
            self._remove(identity)
            raise DeploymentError(error.message, where=error.where, hint=error.hint) from error
        except BaseException:
            self._remove(identity)
            raise
        return describe(identity, site)

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """See Driver.prove_traversal."""
        site = self._sites[deployment.id]

        def counted(node: str) -> dict[tuple[int, int], int]:
            return site.switches[node].packets_by_path("sff")

        evidence = self.context.raw_dir / f"traversal-{deployment.id}.pcapng"
        return traversal.prove(site.layout, scenario, counted, evidence)

    def problems(self, deployment: Deployment) -> list[str]:
        """See Driver.problems."""
        site = self._sites[deployment.id]
        found = [
            f"the SFF of {node}: {problem}"
            for node, switch in site.switches.items()
            if (problem := switch.problem()) is not None
        ]
        for function in deployment.functions:
            problem = function.alive()
            if problem is not None:
                found.append(f"{function.name}: {problem}")
        if not found:
            server = deployment.server.address
            # Until the first reply: a single lost packet is no illness.
            argv = ["ping", "-n", "-c", "1", "-i", "0.2", "-w", str(PING_TIMEOUT_S), server]
            pinged = deployment.client.host.run(argv, timeout_s=PING_TIMEOUT_S + 2, check=False)
            if pinged.returncode != 0:
                found.append(f"the client does not reach the server at {server} by ping")
        return found

    def teardown(self, deployment: Deployment) -> None:
        """See Driver.teardown."""
        self._remove(deployment.id)

    def close(self) -> None:
        """See Driver.close."""
        for identity in list(self._sites):
            self._remove(identity)

    def facts(self) -> Mapping[str, Any]:
        """See Driver.facts."""
        host = LocalHost(self.context.state_dir)
        version = host.run(["ovs-vswitchd", "--version"], timeout_s=5).text.splitlines()[0]
        return {
            "openvswitch": version,
            "cpus": list(machine_cpus()),
            "cgroups": f"v{cgroups.this_machine().version}",
        }

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """See Driver.undo."""
        return demolition.demolish(resources, dry_run=dry_run)

    def _prepare_database(self) -> None:
        file = self.context.state_dir / "empty.db"
        if not file.exists():
            openvswitch.create_database(LocalHost(self.context.state_dir), file)

    def _remove(self, identity: str) -> None:
        site = self._sites.get(identity)
        if site is None:
            return
        resources = site.resources
        demolition.demolish(resources)
        del self._sites[identity]
        # They are dead by now; this only collects them.
        for running in site.running.values():
            running.stop()
        for switch in site.switches.values():
            switch.stop()
        self.context.journal.removed(resources)

    def _remove_what_stayed(self) -> None:
        """What an earlier tear-down could not remove would be in the way: names are the same."""
        for identity in list(self._sites):
            self._remove(identity)


def _check_free(resources: Sequence[Resource]) -> None:
    """What is there already is not ours: it must not be removed when building fails."""
    names = [r.name for r in resources if r.kind == demolition.NAMESPACE]
    taken = [name for name in names if (NETNS_FOLDER / name).exists()]
    if taken:
        raise DeploymentError(
            f"there is a network namespace {taken[0]} already, which this run has not made",
            hint="is another process working on this run? `sfcperf clean` removes what is left",
        )


def _file(path: Path, remedy: str) -> Requirement:
    if path.exists():
        return Requirement(str(path), met=True, detail="is there")
    return Requirement(str(path), met=False, detail="is not there", remedy=remedy)


def _cgroups() -> Requirement:
    try:
        found = cgroups.this_machine()
    except EnvironmentLacks as error:
        return Requirement("cgroups", False, error.message, error.hint or "")
    return Requirement("cgroups", True, f"v{found.version}")
