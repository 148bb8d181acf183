"""ScenarioDeployment: namespaces, control groups, cables, rules, functions of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local import network
from sfcperf.drivers.local.cgroups import Cgroup, this_machine
from sfcperf.drivers.local.cleanup import CGROUP, FOLDER, NAMESPACE
from sfcperf.drivers.local.cpus import CpuAssignment, machine_cpus
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.base import Attachment, RunningFunction, function_type
from sfcperf.workflow.model import Scenario
from sfcperf_policy_routing.layout import NODE, NODE_MAC, Function, Layout
from sfcperf_policy_routing.routing import endpoint_commands, node_commands

COMMAND_TIMEOUT_S = 30.0
_NODE_SETTINGS = (
    "net/ipv4/ip_forward=1",
    "net/ipv4/conf/all/rp_filter=0",
    "net/ipv4/conf/default/rp_filter=0",
    "net/ipv4/conf/all/send_redirects=0",
    "net/ipv4/conf/default/send_redirects=0",
)


class ScenarioDeployment:
    """What is built of a scenario so far. The driver makes one per deployment and calls `build`
    once. However that ends, the driver removes `resources`."""

    def __init__(self, context: DriverContext, scenario: Scenario, layout: Layout) -> None:
        self.context = context
        self.scenario = scenario
        self.layout = layout
        self.hosts: dict[str, Host] = {}
        """Instance -> its namespace, as a host."""
        self.running: dict[str, RunningFunction] = {}
        """Name of a function -> its data plane, once it works."""
        self.offloads: dict[str, dict[str, bool]] = {}
        """Endpoint -> each offload of its interface -> whether it is on."""
        self.cpus = CpuAssignment(scenario.topology.nodes, machine_cpus())
        where = this_machine()
        group = f"sfcperf-{context.tag}"
        self.groups = {f.spec.name: Cgroup(where, group, f.spec.name) for f in layout.functions}
        """Name of a function -> its control group, which limits and meters it."""

    @property
    def resources(self) -> list[Resource]:
        """Everything that `build` creates."""
        paths = dict.fromkeys(path for group in self.groups.values() for path in group.paths)
        return [
            Resource(FOLDER, str(self._workdirs)),
            *(Resource(NAMESPACE, self.layout.namespace(name)) for name in self.layout.instances),
            *(Resource(CGROUP, str(path)) for path in paths),
        ]

    def build(self) -> None:
        """Create everything. Raises DeploymentError, MeasurementError."""
        network.add_namespaces([self.layout.namespace(name) for name in self.layout.instances])
        self._hosts()
        self._cables()
        self._node()
        self._endpoints()
        for function in self.layout.functions:
            self._start(function)

    def _hosts(self) -> None:
        """Create the control groups of functions, and for each instance a folder and a host."""
        for function in self.layout.functions:
            spec = function.spec
            cpus = self.cpus.assign(spec.name, spec.node, spec.resources.vcpus)
            self.groups[spec.name].create(cpus, spec.resources.memory_mib)
        for instance in self.layout.instances:
            workdir = self._workdirs / instance
            workdir.mkdir(parents=True)
            group = self.groups.get(instance)
            self.hosts[instance] = NamespaceHost(
                instance,
                self.layout.namespace(instance),
                workdir,
                () if group is None else group.procs,
            )

    def _cables(self) -> None:
        """Let the node forward packets, and create its cables to all instances."""
        settings = ["sysctl", "-q", "-w", *_NODE_SETTINGS]
        self.hosts[NODE].run(settings, timeout_s=COMMAND_TIMEOUT_S)
        mtu = self.context.config["mtu"]
        batch = "".join(
            f"link add {cable.outer} address {NODE_MAC} mtu {mtu} type veth peer name {cable.inner}"
            f" address {cable.mac} mtu {mtu} netns {self.layout.namespace(cable.instance)}\n"
            for cable in self.layout.cables
        )
        _ip(self.hosts[NODE], batch)

    def _node(self) -> None:
        """Give the node its routes and rules."""
        _ip(self.hosts[NODE], node_commands(self.layout, self.scenario))

    def _endpoints(self) -> None:
        """Give the endpoints their addresses and routes, and turn off their offloads."""
        addresses = self.layout.addresses
        for cable, peer in ((self.layout.client, "server"), (self.layout.server, "client")):
            name = cable.instance
            _ip(self.hosts[name], endpoint_commands(cable, addresses[name], addresses[peer]))
            # Packets of the chain then look as they would on a wire.
            namespace = self.layout.namespace(name)
            self.offloads[name] = network.turn_off_offloads(namespace, cable.inner)

    def _start(self, function: Function) -> None:
        """Start a function, between its two cables."""
        spec = function.spec
        arms = (function.ingress, function.egress)
        addresses = self.layout.addresses
        attachment = Attachment(
            name=spec.name,
            interfaces=tuple(arm.inner for arm in arms),
            macs=tuple(arm.mac for arm in arms),
            encapsulation="none",
            address=None,
            # The node takes packets for everybody.
            client=(addresses["client"], NODE_MAC),
            server=(addresses["server"], NODE_MAC),
            vcpus=self.cpus.assigned[spec.name],
            mtu=int(self.context.config["mtu"]),
            outputs=self._workdirs / spec.name,
        )
        kind = function_type(spec)
        self.running[spec.name] = kind.start(self.hosts[spec.name], attachment, spec.knobs)

    def facts(self) -> Mapping[str, Any]:
        """Return what a reader of the results should know (`Deployment.facts`)."""
        return {
            "mtu": self.context.config["mtu"],
            "offloads": self.offloads,
            "cpus": {name: list(cpus) for name, cpus in self.cpus.assigned.items()},
            "functions": {name: dict(r.facts()) for name, r in self.running.items() if r.facts()},
            # The kernel forwards in the softirq of the sender: no control group limits that.
            "not_bounded_by_vcpus": [name for name, r in self.running.items() if not r.pids()],
        }

    @property
    def _workdirs(self) -> Path:
        """Folder with a working folder for each instance."""
        return self.context.state_dir / "hosts"


def _ip(host: Host, batch: str) -> None:
    """Run lines of `ip -batch` on a host. Raises MeasurementError."""
    host.run(["ip", "-batch", "-"], stdin=batch.encode(), timeout_s=COMMAND_TIMEOUT_S)
