"""ScenarioDeployment: namespaces, control groups, switches, links, flows, functions of a
scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local import network, nics
from sfcperf.drivers.local.cgroups import Cgroup, this_machine
from sfcperf.drivers.local.cleanup import CGROUP, FOLDER, NAMESPACE
from sfcperf.drivers.local.cpus import CpuAssignment
from sfcperf.drivers.local.dataplane import BMV2, EBPF, OVS
from sfcperf.drivers.local.layout import LocalLayout, LocalNode
from sfcperf.drivers.local.machine import Machine, make_folder
from sfcperf.drivers.local.nics import Nic
from sfcperf.drivers.local.sff import Bmv2Sff, OpenVSwitchSff, Sff
from sfcperf.drivers.parallel import each
from sfcperf.drivers.sff.ebpf import QUEUE_PACKETS, EbpfSff, outer_mtu
from sfcperf.drivers.sff.layout import FunctionLayout
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.base import Attachment, RunningFunction
from sfcperf.vnfs.forwarder.function import attach_pass
from sfcperf.workflow.model import EndpointSpec, FunctionSpec, Scenario

DEFAULT_BURST_S = 0.01
"""A shaper's bucket holds this time at its rate, and at least ten packets."""

WORKERS = 8


class ScenarioDeployment:
    """What is built of a scenario so far. The driver makes it, journals `resources`, calls `build`
    once, and removes `resources` at the end, or as soon as `build` has failed."""

    def __init__(
        self,
        context: DriverContext,
        scenario: Scenario,
        layout: LocalLayout,
        machines: Mapping[str, Machine],
        dataplanes: Mapping[str, str],
        kept: Path,
    ) -> None:
        """`machines`: node -> the machine that holds it. `dataplanes`: node -> `ebpf`, `ovs` or
        `bmv2`. `kept`: folder in the results for what functions print."""
        self.context = context
        self.machines = dict(machines)
        self.kept = kept
        self.dataplanes = dict(dataplanes)
        self.scenario = scenario
        self.layout = layout
        self.cpus: Mapping[str, CpuAssignment]
        """Node -> the CPUs of its machine."""
        self.hosts: dict[str, Host] = {}
        """Hosts by instance. The host of `sff@NODE` is outside the SFF's control group, for
        captures."""
        self.groups: dict[str, Cgroup] = {}
        """Control groups by instance; `sff@NODE` for an SFF."""
        self.sffs: dict[str, Sff] = {}
        """SFFs by node."""
        self.running: dict[str, RunningFunction] = {}
        """Functions that were started, by name."""
        self.offloads: dict[str, dict[str, bool]] = {}
        """Instance -> ethtool's offloads of its interface, where this driver has set them. Both
        interfaces of a function have the same."""
        self._spaces: dict[str, int | None] = {}
        """Namespace -> its inode when it was created."""
        self._places = {
            layout.client.instance: layout.client.node,
            layout.server.instance: layout.server.node,
            **{function.spec.name: function.spec.node for function in layout.functions},
            **{f"sff@{node}": node for node in layout.nodes},
        }
        """Instance -> its node."""
        where = {machine: machine.call(this_machine) for machine in self._all_machines}
        group = f"sfcperf-{context.tag}"
        for instance in self._places:
            machine = self._machine_of(instance)
            self.groups[instance] = machine.call(Cgroup, where[machine], group, instance)
        self.resources = {machine: self._resources(machine) for machine in self._all_machines}
        """Machine -> everything that `build` creates there, in order."""

    @property
    def in_journal(self) -> list[Resource]:
        """Everything that `build` creates, as the journal names it."""
        return [
            machine.in_journal(resource)
            for machine, resources in self.resources.items()
            for resource in resources
        ]

    def _resources(self, machine: Machine) -> list[Resource]:
        """Return what `build` creates on a machine, in order."""
        groups = [g for name, g in self.groups.items() if self._machine_of(name) is machine]
        paths = dict.fromkeys(path for group in groups for path in group.paths)
        return [
            *(Resource(FOLDER, str(folder)) for folder in (machine.workdirs, self.layout.folder)),
            *(Resource(NAMESPACE, name) for name in self._namespaces(machine)),
            *(nics.card_resource(*card) for card in self._cards(machine)),
            # Reversed, parents come before their children.
            *(Resource(CGROUP, str(path)) for path in reversed(paths)),
        ]

    def _cards(self, machine: Machine) -> list[tuple[Nic, str, str]]:
        """Return the network cards of a machine's nodes, each with the node's namespace and the
        name that it has there."""
        return [
            (node.card, node.namespace, self.layout.lan[node.name])
            for node in self.layout.nodes.values()
            if node.card is not None and self.machines[node.name] is machine
        ]

    @property
    def _all_machines(self) -> list[Machine]:
        """The machines, each once."""
        return list(dict.fromkeys(self.machines.values()))

    def _machine_of(self, instance: str) -> Machine:
        """Return the machine that holds an instance."""
        return self.machines[self._places[instance]]

    @property
    def ebpf_nodes(self) -> list[str]:
        """Nodes on the data plane `ebpf`."""
        return self._nodes_on(EBPF)

    def _nodes_on(self, dataplane: str) -> list[str]:
        return [node for node, plane in self.dataplanes.items() if plane == dataplane]

    def namespace(self, instance: str) -> str:
        """Return the name of an instance's network namespace; that of `sff@NODE` is the node's."""
        own = self.layout.namespaces.get(instance)
        return own or self.layout.nodes[self._places[instance]].namespace

    def _namespaces(self, machine: Machine) -> list[str]:
        """Return the names of all namespaces of a machine, those of its nodes first."""
        instances = sorted(self._places, key=lambda name: name in self.layout.namespaces)
        return [self.namespace(name) for name in instances if self._machine_of(name) is machine]

    def build(self, cpus: Mapping[str, CpuAssignment]) -> None:
        """Create everything: namespaces, control groups, SFFs, links, functions. `cpus`: node ->
        the CPUs of its machine. Raises DeploymentError."""
        self.cpus = cpus
        for machine in self._all_machines:
            names = self._namespaces(machine)
            machine.call(network.add_namespaces, names)
            self._spaces |= dict(zip(names, machine.call(network.identities, names), strict=True))
        self._groups()
        self._start_sffs()
        self._attachments()
        self._links()
        each(*(sff.connect for sff in self.sffs.values()), at_once=WORKERS)
        self._shape_links()
        self._endpoints()
        functions = self.layout.functions
        each(*(partial(self._start, function) for function in functions), at_once=WORKERS)

    def show_packets(self, shown: bool) -> None:
        """Let captures at the SFFs' ports see every packet, or no longer."""
        for sff in self.sffs.values():
            sff.show_packets(shown)

    def problems(self) -> list[str]:
        """Say what was taken from the instances, or changed: namespaces, control groups, limits.
        Packets may cross all the same, because what runs in a namespace goes on when its name is
        deleted."""
        now: dict[str, int | None] = {}
        for machine in self._all_machines:
            names = self._namespaces(machine)
            now |= dict(zip(names, machine.call(network.identities, names), strict=True))
        found = [
            f"{instance}: its network namespace {name} is gone"
            for instance in self._places
            if now[name := self.namespace(instance)] != self._spaces[name]
        ]
        for instance, group in self.groups.items():
            running = self.running.get(instance)
            problems = group.problems(() if running is None else running.pids())
            found += [f"{instance}: {problem}" for problem in problems]
        return found

    def _groups(self) -> None:
        """Create the control groups of all instances, and the hosts whose processes are in them.
        Hosts of SFFs, which are for captures, are in none."""
        for name in self.layout.nodes:
            self._unbounded(f"sff@{name}", name)
        scenario = self.scenario
        instances: list[FunctionSpec | EndpointSpec] = [*scenario.chain.functions]
        for spec in (*instances, scenario.client, scenario.server):
            if spec.resources is None:
                self._unbounded(spec.name, spec.node)
            else:
                cpus = self.cpus[spec.node]
                assigned = cpus.assign(spec.name, spec.node, spec.resources.vcpus)
                self.groups[spec.name].create(assigned, spec.resources.memory_mib)
        for instance in self._places:
            # The host of an SFF is outside its group, for captures.
            own = instance in self.layout.namespaces
            procs = self.groups[instance].procs if own else ()
            self.hosts[instance] = self._host(instance, self._workdir(instance), procs)

    def _unbounded(self, instance: str, node: str) -> None:
        """Create a group with all CPUs of its node and no limit of memory, for metering alone."""
        self.groups[instance].create(self.cpus[node].share(instance, node), None)

    def _host(self, instance: str, workdir: Path, procs: Sequence[Path]) -> Host:
        """Return a host in an instance's namespace, whose processes are in these control groups."""
        machine = self._machine_of(instance)
        machine.call(make_folder, workdir)
        return machine.host(instance, self.namespace(instance), workdir, procs)

    def _start_sffs(self) -> None:
        """Make and start the SFFs, each with a host of its own that puts it into its control
        group."""
        for node in self.layout.nodes.values():
            instance = f"sff@{node.name}"
            host = self._host(instance, node.folder, self.groups[instance].procs)
            self.sffs[node.name] = self._sff(host, node)
        each(*(sff.start for sff in self.sffs.values()), at_once=WORKERS)

    def _sff(self, host: Host, node: LocalNode) -> Sff:
        """Return the SFF of a node, by its data plane, not yet started."""
        if self.dataplanes[node.name] == BMV2:
            assert isinstance(host, NamespaceHost), "bmv2 is only on this machine"
            nodes = self._nodes_on(BMV2)
            return Bmv2Sff(host, node, self.layout, self.scenario, bmv2_nodes=nodes)
        if self.dataplanes[node.name] == OVS:
            database = self.context.state_dir / "empty.db"
            return OpenVSwitchSff(host, node, self.layout, self.scenario, database)
        return EbpfSff(host, node, self.layout, self.scenario, ebpf_nodes=self.ebpf_nodes)

    def _attachments(self) -> None:
        """Connect each instance to the SFF of its node by veth pairs, and prepare these for the
        node's data plane: offloads, and XDP programs that XDP_TX needs."""
        mtu = int(self.context.config["mtu"])
        functions = [function for function in self.layout.functions if function.needs_xdp]
        facing_xdp = {port for function in functions for port in function.ports}
        proxies = [function for function in self.layout.functions if function.redirection]
        senders = {
            self.layout.client,
            self.layout.server,
            *(port for function in proxies for port in function.ports),
        }
        for node in self.layout.nodes.values():
            machine = self.machines[node.name]
            plane = self.dataplanes[node.name]
            ports = self.layout.ports(node.name)
            for port in ports:
                machine.call(
                    network.add_veth,
                    node.namespace,
                    port.outer,
                    self.layout.namespaces[port.instance],
                    port.inner,
                    peer_mac=port.mac,
                    mtu=self._outer_mtu(node.name),
                    peer_mtu=self.layout.mtu(port, mtu),
                )
                is_end = port in (self.layout.client, self.layout.server)
                if port in senders or port.address is not None or plane in (EBPF, BMV2):
                    # Offloads leave checksums to be written later. XDP frames have no room to note
                    # that, and bmv2 does not look for the note, nor Open vSwitch at the end of a
                    # tunnel. What endpoints and functions that end connections send must also be
                    # small enough to be encapsulated, on any data plane.
                    namespace = self.layout.namespaces[port.instance]
                    polls = plane == EBPF and is_end
                    self.offloads[port.instance] = machine.call(
                        network.turn_off_offloads, namespace, port.inner, gro=polls
                    )
            if plane == EBPF:
                # The SFF puts its own XDP program there, which makes a program that passes all
                # unnecessary.
                continue
            facing = [port.outer for port in ports if port in facing_xdp]
            if facing:
                attach_pass(self.hosts[f"sff@{node.name}"], facing)

    def _links(self) -> None:
        """Connect the nodes by a veth pair for each link, or by their network cards."""
        for machine in self._all_machines:
            for nic, namespace, interface in self._cards(machine):
                machine.call(nics.take, nic, namespace, interface, self.layout.wire_mtu)
                machine.call(network.turn_off_offloads, namespace, interface)
        # A cable between two cards has a link when both are up.
        for machine in self._all_machines:
            for card in self._cards(machine):
                machine.call(nics.await_link, *card)
        for link in self.layout.links:
            (first, second), (here, there) = link.nodes, link.interfaces
            namespaces = [self.layout.nodes[node].namespace for node in (first, second)]
            mtus = [self._outer_mtu(node) for node in link.nodes]
            self.machines[first].call(
                network.add_veth,
                namespaces[0],
                here,
                namespaces[1],
                there,
                mtu=mtus[0],
                peer_mtu=mtus[1],
            )

    def _outer_mtu(self, node: str) -> int:
        """Return the MTU of the ends of veths that are ports of this node's SFF."""
        wire_mtu = self.layout.wire_mtu
        return outer_mtu(self.layout) if self.dataplanes[node] == EBPF else wire_mtu

    def _shape_links(self) -> None:
        """Limit the rate of links that have one, in both directions."""
        for link in self.layout.links:
            rate = link.link.rate_bps
            if rate is not None:
                burst = burst_bytes(rate, self.layout.wire_mtu)
                for node, interface in zip(link.nodes, link.interfaces, strict=True):
                    namespace = self.layout.nodes[node].namespace
                    self.machines[node].call(network.shape, namespace, interface, rate, burst)

    def _endpoints(self) -> None:
        """Give each endpoint its address, the other one as a permanent neighbour and, on eBPF, a
        queue."""
        client, server = self.layout.client, self.layout.server
        for port, other in ((client, server), (server, client)):
            call, namespace = self.machines[port.node].call, self.namespace(port.instance)
            call(network.add_address, namespace, port.inner, port.address, 32)
            call(network.add_neighbour, namespace, port.inner, other.address, other.mac)
            if self.dataplanes[port.node] == EBPF:
                call(network.queue, namespace, port.inner, QUEUE_PACKETS)

    def _start(self, function: FunctionLayout) -> None:
        """Start a function. If it is reached by VXLAN-GPE, its ingress gets an address before, and
        a way to its SFF."""
        client, server = self.layout.client, self.layout.server
        name, aware = function.spec.name, function.type.nsh_aware
        ingress, sff = function.ingress, self.layout.nodes[function.spec.node]
        machine = self._machine_of(name)
        if ingress.address is not None:
            namespace = self.namespace(name)
            machine.call(network.add_address, namespace, ingress.inner, ingress.address, 24)
            machine.call(network.add_neighbour, namespace, ingress.inner, sff.address, sff.mac)
        outputs, scratch = self.kept / name, self.context.state_dir / "hosts" / name
        for folder in (outputs, scratch):
            make_folder(folder)
        attachment = Attachment(
            name=name,
            interfaces=tuple(port.inner for port in function.ports),
            macs=tuple(port.mac for port in function.ports),
            encapsulation=self.layout.encapsulation if aware else "none",
            address=ingress.address,
            sff_mac=sff.mac if aware else None,
            sff_address=sff.address if ingress.address is not None else None,
            client=(client.address, client.mac),
            server=(server.address, server.mac),
            vcpus=self.assigned(name),
            mtu=int(self.context.config["mtu"]),
            outputs=outputs,
            scratch=scratch,
            management=machine.management,
            run_id=self.context.run_id,
            cache=self.context.state_dir / "cache",
            services=self.context.services,
        )
        self.running[name] = function.type.start(self.hosts[name], attachment, function.spec.knobs)

    def assigned(self, instance: str) -> tuple[int, ...]:
        """Return the CPUs that an instance may use, by their numbers on its machine."""
        return self.cpus[self._places[instance]].assigned[instance]

    def _workdir(self, instance: str) -> Path:
        return self._machine_of(instance).workdirs / instance

    def facts(self) -> Mapping[str, Any]:
        """Return the facts for Deployment.facts."""
        return {
            "dataplane": self.dataplanes,
            "mtu": self.context.config["mtu"],
            "wire_mtu": self.layout.wire_mtu,
            "offloads": self.offloads,
            "cpus": {name: list(self.assigned(name)) for name in self._places},
            "cpus_shared": any(cpus.shared for cpus in self.cpus.values()),
            "functions": {name: dict(r.facts()) for name, r in self.running.items() if r.facts()},
            # XDP runs in the softirq of the sender: a cpuset does not limit it.
            "not_bounded_by_vcpus": [f.spec.name for f in self.layout.functions if f.needs_xdp],
        }


def burst_bytes(rate_bps: int, wire_mtu: int) -> int:
    """Return the size of a shaper's bucket, bytes: DEFAULT_BURST_S at its rate, and at least ten
    packets."""
    return max(int(rate_bps * DEFAULT_BURST_S / 8), 10 * (wire_mtu + 14))
