"""MachinesDriver: chains across several machines, which are reached by SSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfcperf import plugins
from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import BINARY
from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local import cleanup, dataplane, nics, validation
from sfcperf.drivers.local.cpus import CpuAssignment
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.drivers.local.layout import lay_out as local_layout
from sfcperf.drivers.local.machine import Machine
from sfcperf.drivers.local.nics import Nic
from sfcperf.drivers.local.node_driver import NodeDriver
from sfcperf.drivers.machines.checks import check_clock, check_machines
from sfcperf.drivers.machines.config import PARAMETERS, MachineConfig, machine_configs
from sfcperf.drivers.machines.facts import MachineFacts, check_kernel, local_facts
from sfcperf.drivers.machines.layout import lay_out
from sfcperf.drivers.machines.remote_machine import (
    RemoteMachine,
    by_machine,
    settle,
    ssh_connection,
)
from sfcperf.drivers.machines.tools import check_tools
from sfcperf.drivers.parallel import each
from sfcperf.environment import tools
from sfcperf.errors import (
    DeploymentError,
    EnvironmentLacks,
    SfcperfError,
    WorkflowError,
    errors_as,
)
from sfcperf.hosts.agent import Agent, AgentAccess
from sfcperf.management.observable import Observable
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario


class MachinesDriver(NodeDriver):
    """Each node is a machine of its own."""

    name = "machines"
    title = "Several machines by SSH, each a node with an SFF in eBPF, joined by network cards"
    parameters = PARAMETERS
    elsewhere = True

    def __init__(self, context: DriverContext) -> None:
        super().__init__(context)
        self._known = machine_configs(context.config)
        self._machines: dict[str, RemoteMachine] = {}
        """Machines with an agent, by node."""

    @classmethod
    def requirements(cls, config: Mapping[str, Any]) -> list[Requirement]:
        """Require ssh and sfc-sff here, and on each machine all that its node needs."""
        found = [tools.tool("ssh", "openssh-client", ["ssh", "-V"]), binaries.requirement(BINARY)]
        if all(need.met for need in found):
            found += each(
                *(
                    partial(Requirement.found, f"machine {name}", partial(_look, machine))
                    for name, machine in machine_configs(config).items()
                )
            )
        return found

    @classmethod
    def validate(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Raise WorkflowError for nodes that are no machine, machines that no card joins to others,
        and what nodes cannot build."""
        validation.check_mtu(config)
        machines = machine_configs(config)
        for scenario in scenarios:
            _check_machines(scenario, machines)
            validation.check_chain(scenario, local_layout(scenario, "000000"))

    @classmethod
    def check_capacity(cls, config: Mapping[str, Any], scenarios: Sequence[Scenario]) -> None:
        """Raise EnvironmentLacks where a machine has too few CPUs, or lacks a command, or a card
        takes too small packets; where two nodes are one machine; where a clock is wrong."""
        machines = machine_configs(config)
        nodes = {node.name for scenario in scenarios for node in scenario.topology.nodes}
        names = sorted(nodes)
        asked = each(*(partial(_asked, machines[name], scenarios) for name in names))
        facts = dict(zip(names, asked, strict=True))
        check_machines(facts, config["wire_mtu"])
        for scenario in scenarios:
            assignments = {
                node.name: CpuAssignment([node], facts[node.name].cpus)
                for node in scenario.topology.nodes
            }
            validation.check_cpus(scenario, assignments)

    @classmethod
    def observable(cls, config: Mapping[str, Any], scenario: Scenario) -> Observable | None:
        """Return all nodes' SFFs as counting and watchable."""
        nodes = tuple(node.name for node in scenario.topology.nodes)
        return Observable(
            counting_sffs=nodes, watchable_sffs=nodes, switches=nodes, exporting_switches=()
        )

    @classmethod
    def service_address(cls, config: Mapping[str, Any]) -> str | None:
        """Return the address from which this machine logs in to the first machine. Raises
        EnvironmentLacks, DeploymentError."""
        machine = next(iter(machine_configs(config).values()))
        with _agent(machine.name, machine.access) as agent:
            return agent.call(ssh_connection)[0]

    def machines(self, scenario: Scenario) -> Mapping[str, Machine]:
        """Return the machine of each node, with its agent. A machine whose connection was lost gets
        another agent. Raises DeploymentError."""
        names = [node.name for node in scenario.topology.nodes]
        each(*(partial(self._connect, name) for name in names))
        return {name: self._machines[name] for name in names}

    def _connect(self, name: str) -> None:
        """Make the connection to a machine, if there is none or if it was lost."""
        if name in self._machines:
            self._machines[name].reconnect()
        else:
            access = self._known[name].access
            log = self.context.raw_dir / f"agent-{name}.log"
            self._machines[name] = RemoteMachine(name, access, self.context.tag, log)

    def lay_out(self, scenario: Scenario) -> LocalLayout:
        """Return the layout of a scenario, whose nodes the cards of their machines join."""
        nodes = [node.name for node in scenario.topology.nodes]
        cards: dict[str, Nic] = {}
        if len(nodes) > 1:
            for name, machine in self.machines(scenario).items():
                cards[name] = machine.call(nics.look, str(self._known[name].nic))
        return lay_out(scenario, self.context.tag, self.context.config["wire_mtu"], cards)

    def dataplanes(self, scenario: Scenario) -> Mapping[str, str]:
        """Return `ebpf` for all nodes."""
        return {node.name: dataplane.EBPF for node in scenario.topology.nodes}

    def close(self) -> None:
        """Remove what is still there, and end the agents."""
        try:
            super().close()
        finally:
            for machine in self._machines.values():
                machine.close()
            self._machines.clear()

    def facts(self) -> Mapping[str, Any]:
        """Return kernel, CPUs, settings and network card of each machine that the run uses."""
        names = [name for name in self._known if name in (self.context.nodes or self._known)]
        facts = each(*(partial(_described, self._known[name]) for name in names))
        return {"dataplane": [dataplane.EBPF], "machines": dict(zip(names, facts, strict=True))}

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove on each machine what it still has of a dead run, and give network cards back."""
        lines, errors = [], []
        for left, theirs in by_machine(resources).items():
            try:
                with _agent(left.name, left.access) as agent:
                    if not dry_run:
                        agent.call(settle, left.folder)
                    found = agent.call(cleanup.remove_resources, theirs, dry_run=dry_run)
                    lines += [f"{left.name}: {line}" for line in found]
            except SfcperfError as error:
                errors.append(error.as_kind(DeploymentError, left.name))
        if errors:
            raise errors[0]
        return lines


@contextmanager
def _agent(name: str, access: AgentAccess) -> Iterator[Agent]:
    """Yield an agent that builds nothing. Raises DeploymentError."""
    with TemporaryDirectory() as folder:
        agent = Agent(name, access, Path(folder) / "ssh.log")
        try:
            yield agent
        finally:
            agent.close()


def _look(machine: MachineConfig) -> str:
    """Log in to a machine, and say what it is. Raises DeploymentError, EnvironmentLacks."""
    return _asked(machine).text()


def _asked(machine: MachineConfig, scenarios: Sequence[Scenario] = ()) -> MachineFacts:
    """Ask a machine for its facts, and check kernel, network card, clock, and the commands that
    scenarios call there. Raises DeploymentError, EnvironmentLacks."""
    where = f"/infrastructure/config/machines/{machine.name}"
    with (
        errors_as(EnvironmentLacks, EnvironmentLacks, context=machine.name, where=where),
        _agent(machine.name, machine.access) as agent,
    ):
        check_kernel(agent)
        check_clock(agent)
        check_tools(machine.name, agent, scenarios)
        return agent.call(local_facts, machine.nic)


def _described(machine: MachineConfig) -> dict[str, Any]:
    """Return the facts of a machine for results. A card that a deployment has taken is left
    out."""
    try:
        return _asked(machine).document()
    except EnvironmentLacks:
        return _asked(replace(machine, nic=None)).document()


def _check_machines(scenario: Scenario, machines: Mapping[str, MachineConfig]) -> None:
    """Raise WorkflowError for nodes without a machine or a card."""
    nodes = [node.name for node in scenario.topology.nodes]
    for node in nodes:
        if node not in machines:
            raise WorkflowError(
                f"the node {node} is no machine of the configuration",
                where="/infrastructure/config/machines",
                allowed=f"one for each node: {', '.join(nodes)}",
            )
        if len(nodes) > 1 and machines[node].nic is None:
            raise WorkflowError(
                f"nothing joins {node} to the other nodes",
                where=f"/infrastructure/config/machines/{node}/nics",
                allowed="the name of a network card",
            )
    for spec in scenario.chain.functions:
        if knob := plugins.load("vnf", spec.type).here_only(spec.knobs):
            raise WorkflowError(
                f"{spec.name}: this works only where functions share the files of the machine that "
                "runs sfcperf",
                where=f"/vnfs/{spec.vnf}/knobs/{knob}",
                hint="use the driver local",
            )
    for number, link in enumerate(scenario.topology.links):
        if link.rate_bps is not None:
            raise WorkflowError(
                "the driver machines does not limit the rate of links",
                where=f"/topology/links/{number}/rate_bps",
            )
