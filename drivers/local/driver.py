"""LocalDriver: chains in network namespaces of this machine, the embedded infrastructure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sfcperf.drivers import data_planes
from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.local import (
    cgroups,
    cleanup,
    connections,
    dataplane,
    openvswitch,
    traversal,
    validation,
)
from sfcperf.drivers.local.cpus import CpuAssignment, machine_cpus, usable_text
from sfcperf.drivers.local.layout import WIRE_MTU, lay_out
from sfcperf.drivers.local.scenario_deployment import ScenarioDeployment
from sfcperf.drivers.local.sff import Bmv2Sff, EbpfSff, LocalSff, OpenVSwitchSff
from sfcperf.drivers.sff.layout import (
    GPE_OVERHEAD,
    LARGEST_WIRE_MTU,
    EndpointPort,
    FunctionLayout,
)
from sfcperf.environment import tools
from sfcperf.environment.gather import refuse_unmet
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.namespace import LocalHost
from sfcperf.management import health
from sfcperf.management.deployment import (
    Deployment,
    Endpoint,
    Hop,
    ServiceFunction,
    Switch,
    TraversalProof,
    WatchableSff,
)
from sfcperf.management.observable import Observable
from sfcperf.plugins import Requirement, integer, object_schema
from sfcperf.results.files import remove_empty
from sfcperf.vnfs.sfcmon.bmv2.switch import version as bmv2_version
from sfcperf.workflow.model import Scenario


class LocalDriver(Driver):
    """Nodes, endpoints and VNFs are network namespaces; each node has its own SFF."""

    name = "local"
    title = "Network namespaces on this machine, with an SFF in eBPF, Open vSwitch or P4 per node"
    parameters = object_schema(
        {
            "dataplane": dataplane.PARAMETER,
            "mtu": integer(
                f"MTU of the endpoints, bytes of IP packet: at least {GPE_OVERHEAD} less than "
                "wire_mtu, so that packets with the largest encapsulation still fit.",
                (576, LARGEST_WIRE_MTU - GPE_OVERHEAD),
                default=1400,
            ),
            "wire_mtu": integer(
                "MTU of links between nodes and of the attachments of SFFs, bytes of IP packet: "
                "what encapsulated packets fit into. More than Ethernet's 1500 is for large "
                f"frames: from {1500 + GPE_OVERHEAD} on, mtu may be 1500, which makes the frames "
                "of 1518 bytes of RFC 2544.",
                (WIRE_MTU, LARGEST_WIRE_MTU),
                default=WIRE_MTU,
            ),
        }
    )

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._built: dict[str, ScenarioDeployment] = {}
        """Deployments that exist, by id."""
        self._deployed = 0
        """How many deployments there were so far; it numbers their ids."""

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """Require root, CPUs, the tools `ip` and `ping`, control groups, and what the configured
        data planes need."""
        return [
            tools.root("makes network namespaces"),
            Requirement("CPUs", True, usable_text(machine_cpus())),
            *dataplane.requirements(config),
            tools.tool("ip", "iproute2", ["ip", "-V"]),
            tools.tool("ping", "iputils-ping", ["ping", "-V"]),
            Requirement.found("cgroups", lambda: f"v{cgroups.this_machine().version}"),
        ]

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Raise WorkflowError for what namespaces or data planes cannot build, EnvironmentLacks for
        too few CPUs."""
        validation.check_mtu(config)
        for scenario in scenarios:
            # Whether a layout can be built does not depend on the tag.
            layout = lay_out(scenario, "000000")
            validation.validate(scenario, layout)
            # It may be None without root. A run needs root, and so checks bmv2 in any case.
            planes = dataplane.known(config, list(layout.nodes))
            bmv2 = [node for node, plane in (planes or {}).items() if plane == dataplane.BMV2]
            validation.check_bmv2(scenario, layout, bmv2)

    @classmethod
    def check_capacity(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Raise EnvironmentLacks if a node has no data plane in the configuration, and this machine
        lacks what `auto` needs: which nodes there are, `requirements` is not told."""
        nodes = {node.name for scenario in scenarios for node in scenario.topology.nodes}
        if dataplane.leaves_out(config, nodes):
            refuse_unmet(dataplane.requirements({"dataplane": dataplane.AUTO}))

    @classmethod
    def observable(cls, config: Mapping[str, Any], scenario: Scenario) -> Observable | None:
        """Return all nodes' SFFs as watchable, those on eBPF and bmv2 as counting, and those on
        Open vSwitch as exporting; or None if only root can tell which data plane `auto` becomes."""
        planes = dataplane.known(config, [node.name for node in scenario.topology.nodes])
        if planes is None:
            return None
        counting = (dataplane.EBPF, dataplane.BMV2)
        return Observable(
            counting_sffs=tuple(node for node, plane in planes.items() if plane in counting),
            watchable_sffs=tuple(planes),
            switches=tuple(planes),
            exporting_switches=tuple(n for n, plane in planes.items() if plane == dataplane.OVS),
        )

    def deploy(self, scenario: Scenario) -> Deployment:
        """Build namespaces, SFFs, links and functions, in place of an earlier deployment. If that
        fails, remove what was built, and raise DeploymentError."""
        planes = self._dataplanes(scenario)
        database = self.context.state_dir / "empty.db"
        if dataplane.OVS in planes.values() and not database.exists():
            openvswitch.create_database(LocalHost(self.context.state_dir), database)
        # What an earlier tear-down could not remove is in the way: the names are the same.
        self.close()
        layout = lay_out(scenario, self.context.tag, self.context.config["wire_mtu"])
        where = cgroups.this_machine()
        self._deployed += 1
        identity = f"d{self._deployed:04d}-{scenario.id}"
        kept = self.context.raw_dir / identity
        built = ScenarioDeployment(self.context, scenario, layout, where, planes, kept)
        cleanup.check_free(built.resources)
        self._built[identity] = built
        self.context.journal.intend(built.resources)
        try:
            with errors_as(DeploymentError, MeasurementError):
                built.build(CpuAssignment(scenario.topology.nodes, machine_cpus()))
        except BaseException:
            self._remove(identity)
            raise
        return _describe(identity, built)

    def prove_traversal(self, deployment: Deployment, scenario: Scenario) -> TraversalProof:
        """Send marked packets both ways and look for them in captures at the SFFs' ports
        (`traversal-ID.pcapng`). If SFFs are on eBPF, send more packets without captures and compare
        counters. Then prove the functions' data planes."""
        built = self._built[deployment.id]

        def counted(node: str) -> Mapping[tuple[int, int], int]:
            return built.sffs[node].packets_by_path()

        evidence = self.context.raw_dir / f"traversal-{deployment.id}.pcapng"
        built.show_packets(True)
        try:
            proof = traversal.prove(built.layout, scenario, counted, evidence)
        finally:
            built.show_packets(False)
        if proof.proven and built.ebpf_nodes:
            problems = traversal.cross_unshown(built.layout, scenario, counted, built.ebpf_nodes)
            method = f"{proof.method}; without captures, the SFFs' counters and what arrives"
            proof = _extended(proof, problems, method=method)
        if not proof.proven:
            return proof
        cross = partial(traversal.cross, built.layout, scenario)
        with errors_as(DeploymentError, MeasurementError):
            ends = connections.ends(built.layout)
            checked = data_planes.prove(deployment.functions, cross, ends)
        return _extended(proof, checked.problems, data_planes=checked.methods)

    def problems(self, deployment: Deployment) -> list[str]:
        """List SFFs that do not forward, and namespaces and control groups that are gone or
        changed. If those are intact, list also functions that fail or, if none does, a server that
        the client cannot ping."""
        built = self._built[deployment.id]
        found = [
            f"the SFF of {node}: {problem}"
            for node, sff in built.sffs.items()
            if (problem := sff.problem()) is not None
        ]
        # Where something is gone, the rest cannot be checked.
        if damage := built.problems():
            return [*found, *damage]
        return [*found, *health.problems(deployment)]

    def teardown(self, deployment: Deployment) -> None:
        """Kill all processes of the deployment and remove its namespaces, control groups and
        folders."""
        self._remove(deployment.id)

    def close(self) -> None:
        """Remove all deployments that are still there."""
        for identity in list(self._built):
            self._remove(identity)

    def facts(self) -> Mapping[str, Any]:
        """Return the data planes of the run's nodes, the CPUs, the cgroup version, and the versions
        of Open vSwitch and bmv2 where they are used."""
        planes = dataplane.of_nodes(self.context.config, self.context.nodes)
        facts: dict[str, Any] = {
            "dataplane": sorted(set(planes.values())),
            "cpus": list(machine_cpus()),
            "cgroups": f"v{cgroups.this_machine().version}",
        }
        if dataplane.OVS in facts["dataplane"]:
            host = LocalHost(self.context.state_dir)
            argv = ["ovs-vswitchd", "--version"]
            facts["openvswitch"] = host.run(argv, timeout_s=5).text.splitlines()[0]
        if dataplane.BMV2 in facts["dataplane"]:
            facts["bmv2"] = bmv2_version()
        return facts

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove namespaces with the processes in them, control groups and folders; with `dry_run`,
        only list them."""
        return cleanup.remove_resources(resources, dry_run=dry_run)

    def _dataplanes(self, scenario: Scenario) -> dict[str, str]:
        return dataplane.of_nodes(
            self.context.config, [node.name for node in scenario.topology.nodes]
        )

    def _remove(self, identity: str) -> None:
        """Remove a deployment, and note in the journal that it is gone; do nothing if there is none
        of this id."""
        built = self._built.get(identity)
        if built is None:
            return
        resources = built.resources
        cleanup.remove_resources(resources)
        del self._built[identity]
        # The processes are dead by now; this only reaps them.
        for running in built.running.values():
            running.stop()
        for sff in built.sffs.values():
            sff.stop()
        remove_empty(built.kept)
        self.context.journal.removed(resources)


def _extended(proof: TraversalProof, problems: Sequence[str], **more: Any) -> TraversalProof:
    """Return a proof that holds so far, with what a further check found."""
    return replace(proof, proven=not problems, problems=tuple(problems), **more)


def _describe(identity: str, built: ScenarioDeployment) -> Deployment:
    """Return what was built, in the words of RFC 7665, for probes and monitors."""
    layout = built.layout
    sffs = {f"sff@{node}": sff for node, sff in built.sffs.items()}
    return Deployment(
        id=identity,
        client=_endpoint(built, layout.client),
        server=_endpoint(built, layout.server),
        functions=tuple(_function(built, function) for function in layout.functions),
        hops=tuple(_hops(built)),
        meters=dict(built.groups),
        encapsulation=layout.encapsulation,
        facts=built.facts(),
        sffs={name: sff for name, sff in sffs.items() if isinstance(sff, EbpfSff | Bmv2Sff)},
        watchable_sffs=dict(_watchable(built)),
        switches={
            f"sff@{node}": Switch(
                built.hosts[f"sff@{node}"],
                layout.interfaces(node),
                # Only Open vSwitch exports flows, and takes further OpenFlow controllers.
                *((sff, sff.address) if isinstance(sff, OpenVSwitchSff) else ()),
            )
            for node, sff in built.sffs.items()
        },
        unparsed=lambda: {name: sff.unparsed() for name, sff in sffs.items()},
        show_packets=built.show_packets,
    )


def _watchable(built: ScenarioDeployment) -> Iterator[tuple[str, WatchableSff]]:
    """Yield the SFFs that SFCMon can watch, by name: on bmv2 those whose program monitors, else
    those that say where to look."""
    for node, sff in built.sffs.items():
        name = f"sff@{node}"
        if isinstance(sff, Bmv2Sff):
            if sff.monitors:
                yield name, sff
        elif (place := sff.watched_at()) is not None:
            yield name, LocalSff(name, built.hosts[name], place)


def _endpoint(built: ScenarioDeployment, port: EndpointPort) -> Endpoint:
    mtu = int(built.context.config["mtu"])
    host = built.hosts[port.instance]
    return Endpoint(port.instance, port.node, host, port.address, port.inner, mtu)


def _function(built: ScenarioDeployment, function: FunctionLayout) -> ServiceFunction:
    spec = function.spec
    return built.running[spec.name].described(
        spec,
        built.hosts[spec.name],
        tuple(port.inner for port in function.ports),
        built.cpus.assigned[spec.name],
        nsh_aware=function.type.nsh_aware,
        redirection=function.redirection,
    )


def _hops(built: ScenarioDeployment) -> list[Hop]:
    """Return the hops in forward order: client, each SF's attachments, server; then the links. All
    are interfaces in the nodes' namespaces."""
    layout = built.layout
    ports = [layout.client, *(p for f in layout.functions for p in f.ports), layout.server]
    hops = [Hop(port.outer, built.hosts[f"sff@{port.node}"], port.outer) for port in ports]
    for link in layout.links:
        first, second = link.nodes
        hops.append(Hop(f"{first}-{second}", built.hosts[f"sff@{first}"], link.interfaces[0]))
    return hops
