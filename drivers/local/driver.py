"""LocalDriver: chains in network namespaces of this machine, the embedded infrastructure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.drivers.local import cgroups, cleanup, dataplane, openvswitch, validation
from sfcperf.drivers.local.cpus import machine_cpus, usable_text
from sfcperf.drivers.local.layout import WIRE_MTU, LocalLayout, lay_out
from sfcperf.drivers.local.machine import Machine, ThisMachine
from sfcperf.drivers.local.node_driver import NodeDriver
from sfcperf.drivers.sff.layout import GPE_OVERHEAD, LARGEST_WIRE_MTU
from sfcperf.environment import tools
from sfcperf.environment.gather import refuse_unmet
from sfcperf.hosts.namespace import LocalHost
from sfcperf.management.deployment import Deployment
from sfcperf.management.observable import Observable
from sfcperf.plugins import Requirement, integer, object_schema
from sfcperf.vnfs.sfcmon.bmv2.switch import version as bmv2_version
from sfcperf.workflow.model import Scenario


class LocalDriver(NodeDriver):
    """All nodes are on the machine that runs sfcperf."""

    name = "local"
    title = "Network namespaces on this machine, with an SFF in eBPF, Open vSwitch or P4 per node"
    parameters = object_schema(
        {
            "dataplane": dataplane.PARAMETER,
            "mtu": validation.MTU,
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
        self._machine = ThisMachine(context.state_dir / "hosts")

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

    def machines(self, scenario: Scenario) -> Mapping[str, Machine]:
        """Return this machine for all nodes."""
        return dict.fromkeys((node.name for node in scenario.topology.nodes), self._machine)

    def lay_out(self, scenario: Scenario) -> LocalLayout:
        """Return the layout of a scenario, whose links have the MTU of the configuration."""
        return lay_out(scenario, self.context.tag, self.context.config["wire_mtu"])

    def dataplanes(self, scenario: Scenario) -> Mapping[str, str]:
        """Return the data plane of each node, by the configuration and by what this machine can."""
        return dataplane.of_nodes(
            self.context.config, [node.name for node in scenario.topology.nodes]
        )

    def deploy(self, scenario: Scenario) -> Deployment:
        """Make the database that each Open vSwitch of the run begins with, then deploy."""
        database = self.context.state_dir / "empty.db"
        if dataplane.OVS in self.dataplanes(scenario).values() and not database.exists():
            openvswitch.create_database(LocalHost(self.context.state_dir), database)
        return super().deploy(scenario)

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
