"""NodeDriver: deploys chains on nodes with SFFs of their own, proves and removes them. Which
machines hold the nodes is left to subclasses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sfcperf.drivers import data_planes
from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.local import cleanup, connections, traversal
from sfcperf.drivers.local.cpus import CpuAssignment, machine_cpus
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.drivers.local.machine import Machine
from sfcperf.drivers.local.scenario_deployment import ScenarioDeployment
from sfcperf.drivers.local.sff import Bmv2Sff, EbpfSff, LocalSff, OpenVSwitchSff
from sfcperf.drivers.sff.layout import EndpointPort, FunctionLayout
from sfcperf.errors import DeploymentError, MeasurementError, SfcperfError, errors_as
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
from sfcperf.results.files import remove_empty
from sfcperf.workflow.model import Node, Scenario


class NodeDriver(Driver):
    """Nodes, endpoints and VNFs are network namespaces; each node has its own SFF."""

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._built: dict[str, ScenarioDeployment] = {}
        """Deployments that exist, by id."""
        self._deployed = 0
        """How many deployments there were so far; it numbers their ids."""

    @abstractmethod
    def machines(self, scenario: Scenario) -> Mapping[str, Machine]:
        """Return the machine that holds each node of a scenario. Raises DeploymentError."""

    @abstractmethod
    def lay_out(self, scenario: Scenario) -> LocalLayout:
        """Return the layout of a scenario in this run. Raises DeploymentError."""

    @abstractmethod
    def dataplanes(self, scenario: Scenario) -> Mapping[str, str]:
        """Return the data plane of each node of a scenario."""

    def deploy(self, scenario: Scenario) -> Deployment:
        """Build namespaces, SFFs, links and functions, in place of an earlier deployment. If that
        fails, remove what was built, and raise DeploymentError."""
        # What an earlier tear-down could not remove is in the way: the names are the same.
        self._remove_all()
        machines, planes = self.machines(scenario), self.dataplanes(scenario)
        layout = self.lay_out(scenario)
        self._deployed += 1
        identity = f"d{self._deployed:04d}-{scenario.id}"
        kept = self.context.raw_dir / identity
        built = ScenarioDeployment(self.context, scenario, layout, machines, planes, kept)
        with errors_as(DeploymentError, MeasurementError):
            for machine, resources in built.resources.items():
                machine.call(cleanup.check_free, resources)
        self._built[identity] = built
        self.context.journal.intend(built.in_journal)
        try:
            with errors_as(DeploymentError, MeasurementError):
                for machine, resources in built.resources.items():
                    machine.intend(resources)
                built.build(_cpus(scenario, machines))
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
            proof = traversal.prove(built.layout, built.machines, scenario, counted, evidence)
        finally:
            built.show_packets(False)
        if proof.proven and built.ebpf_nodes:
            problems = traversal.cross_unshown(
                built.layout, built.machines, scenario, counted, built.ebpf_nodes
            )
            method = f"{proof.method}; without captures, the SFFs' counters and what arrives"
            proof = _extended(proof, problems, method=method)
        if not proof.proven:
            return proof
        cross = partial(traversal.cross, built.layout, built.machines, scenario)
        with errors_as(DeploymentError, MeasurementError):
            ends = connections.ends(built.layout, built.machines)
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
        self._remove_all()

    def _remove_all(self) -> None:
        for identity in list(self._built):
            self._remove(identity)

    def _remove(self, identity: str) -> None:
        """Remove a deployment, and note in the journal that it is gone; do nothing if there is none
        of this id."""
        built = self._built.get(identity)
        if built is None:
            return
        errors = [*_on_each(built.resources, _stop), *_on_each(built.resources, _remove)]
        if errors:
            raise errors[0]
        del self._built[identity]
        # The processes are dead by now; this only reaps them.
        for running in built.running.values():
            running.stop()
        for sff in built.sffs.values():
            sff.stop()
        remove_empty(built.kept)
        self.context.journal.removed(built.in_journal)


def _stop(machine: Machine, resources: Sequence[Resource]) -> None:
    machine.reconnect()
    machine.stop(resources)


def _remove(machine: Machine, resources: Sequence[Resource]) -> None:
    machine.remove(resources)
    machine.removed(resources)


def _on_each(
    resources: Mapping[Machine, Sequence[Resource]],
    action: Callable[[Machine, Sequence[Resource]], None],
) -> list[SfcperfError]:
    """Do something on each machine, also after it has failed on another one; return the errors."""
    errors = []
    for machine, theirs in resources.items():
        try:
            action(machine, theirs)
        except (DeploymentError, MeasurementError) as error:
            errors.append(error.as_kind(DeploymentError, machine.name))
    return errors


def _cpus(scenario: Scenario, machines: Mapping[str, Machine]) -> dict[str, CpuAssignment]:
    """Return, for each node, the CPUs of its machine; nodes of one machine share the object. Raises
    EnvironmentLacks."""
    nodes: dict[Machine, list[Node]] = {}
    for node in scenario.topology.nodes:
        nodes.setdefault(machines[node.name], []).append(node)
    assignments = {
        machine: CpuAssignment(theirs, machine.call(machine_cpus))
        for machine, theirs in nodes.items()
    }
    return {name: assignments[machine] for name, machine in machines.items()}


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
        machines={node: each for node, each in built.machines.items() if each.name},
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
        built.assigned(spec.name),
        nsh_aware=function.type.nsh_aware,
        redirection=function.redirection,
    )


def _hops(built: ScenarioDeployment) -> list[Hop]:
    """Return the hops in forward order: client, each SF's attachments, server; then network cards
    and links. All are interfaces in the nodes' namespaces."""
    layout = built.layout
    ports = [layout.client, *(p for f in layout.functions for p in f.ports), layout.server]
    hops = [Hop(port.outer, built.hosts[f"sff@{port.node}"], port.outer) for port in ports]
    for node, interface in layout.lan.items():
        hops.append(Hop(f"{node}-lan", built.hosts[f"sff@{node}"], interface))
    for link in layout.links:
        first, second = link.nodes
        hops.append(Hop(f"{first}-{second}", built.hosts[f"sff@{first}"], link.interfaces[0]))
    return hops
