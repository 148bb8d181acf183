"""What the OpenStack driver refuses in a workflow, before it asks the cloud for anything."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Sequence

from sfcperf import plugins
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import PREFIX_LENGTH
from sfcperf.drivers.openstack.planning import encapsulation, overlay
from sfcperf.drivers.openstack.planning.endpoint_options import options_of
from sfcperf.drivers.openstack.planning.machine_specs import scenario_machines
from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import Resources, Scenario


def validate(scenarios: Sequence[Scenario], config: Config) -> None:
    """Raises WorkflowError for what VMs and their chaining cannot build, and for scenarios that
    differ but would be built alike."""
    if (config.management_network is None) == (config.external_network is None):
        raise WorkflowError(
            "exactly one network for SSH to the VMs is needed",
            where="/infrastructure/config",
            allowed='either "management_network", a network that this machine is on, or '
            '"external_network", from which the client\'s VM gets a floating IP',
        )
    if config.dns_servers and config.external_network is None:
        raise WorkflowError(
            "sfcperf cannot set the name servers of a management network that it does not create",
            where="/infrastructure/config/dns_servers",
            hint='leave it out, or set "external_network"',
        )
    for scenario in scenarios:
        # It refuses options and descriptors that do not make a machine; its result is not needed.
        scenario_machines(scenario, config)
        _check_functions(scenario)
        encapsulation.check(scenario, config)
        if config.overlay:
            overlay.check(scenario, config)
        else:
            _check_classifier(scenario)
        _check_endpoints(scenario)
        _check_topology(scenario)
        _check_hosts(scenario, config)
    _check_places(scenarios, config)
    _check_sizes(scenarios, config)
    prefixes = {data_prefix(scenario) for scenario in scenarios}
    if len(prefixes) > 1:
        raise WorkflowError(
            "the endpoints of all scenarios share one data network, but their addresses are in "
            + " and ".join(sorted(prefixes)),
            where="/endpoints",
            allowed=f"addresses in one network of /{PREFIX_LENGTH}, or none at all",
        )


def data_prefix(scenario: Scenario, tag: str = "") -> str:
    """Return the IPv4 prefix of the data network, which is the client's, in the run with this
    tag."""
    client = ipaddress.IPv4Interface(f"{addresses(scenario, tag)[0]}/{PREFIX_LENGTH}")
    return str(client.network)


def _check_functions(scenario: Scenario) -> None:
    """Refuse functions that need files of this machine: VMs have their own."""
    for spec in scenario.chain.functions:
        knob = plugins.load("vnf", spec.type).here_only(spec.knobs)
        if knob is not None:
            raise WorkflowError(
                f"{spec.name} runs in a VM, which has its own files",
                where=f"/vnfs/{spec.vnf}/knobs/{knob}",
                hint="use an image of the cloud (Glance) that has the program, and leave this knob "
                "out; or use the local driver",
            )


def _check_classifier(scenario: Scenario) -> None:
    if scenario.chain.bypass_unparsed:
        raise WorkflowError(
            "what becomes of frames that are not IPv4 is up to the cloud's networking-sfc",
            where="/chain/classifier/bypass_unparsed",
            allowed="false",
        )


def _check_endpoints(scenario: Scenario) -> None:
    """Refuse addresses of endpoints that are equal, in different networks, or in the half of their
    network from which the cloud assigns addresses to functions."""
    client, server = addresses(scenario)
    if client == server:
        raise WorkflowError(
            f"client and server would both have the address {client}",
            where="/endpoints",
            hint="give both an address, or neither",
        )
    network = ipaddress.IPv4Network(data_prefix(scenario))
    if ipaddress.IPv4Address(server) not in network:
        raise WorkflowError(
            f"the server's address {server} is not in the client's network {network}",
            where="/endpoints/server/address",
            allowed=f"an address in {network}",
        )
    pool = list(network.subnets())[1]  # the upper half
    for end in (scenario.client, scenario.server):
        if end.address and ipaddress.IPv4Address(end.address) in pool:
            raise WorkflowError(
                f"the {end.name}'s address {end.address} is in the half of its network that is "
                "reserved for functions",
                where=f"/endpoints/{end.name}/address",
                allowed=f"an address in {next(network.subnets())}",
            )


def addresses(scenario: Scenario, tag: str = "") -> tuple[str, str]:
    """IPv4 addresses of client and server in the data network of the run with this tag.

    If the workflow sets none, each run has its own, by its tag: networking-sfc compares the flow
    classifiers of all chains of a project by prefix and protocol alone, not by network or port, so
    that two runs at the same time would conflict.
    """
    # One of the networks from 10.64.0.0/24 to 10.127.255.0/24, by the tag.
    number = int.from_bytes(hashlib.sha256(tag.encode()).digest()[:2], "big") % (64 * 256)
    own = f"10.{64 + number // 256}.{number % 256}"
    return scenario.client.address or f"{own}.1", scenario.server.address or f"{own}.2"


def _check_topology(scenario: Scenario) -> None:
    for number, link in enumerate(scenario.topology.links):
        if link.rate_bps is not None:
            raise WorkflowError(
                "this driver does not shape the links between hypervisors",
                where=f"/topology/links/{number}/rate_bps",
                hint="leave it out, or use the local driver",
            )
    for node in scenario.topology.nodes:
        for name, value in (("vcpus", node.vcpus), ("memory_mib", node.memory_mib)):
            if value is not None:
                raise WorkflowError(
                    "the size of a node cannot be set: the driver does not change hypervisors",
                    where=f"/topology/nodes/{node.name}/{name}",
                    hint="leave it out; `resources` set the size of VMs",
                )


def _check_hosts(scenario: Scenario, config: Config) -> None:
    """Refuse `hosts` that leave out a node which the scenario uses."""
    if not config.hosts:
        return
    used = {scenario.client.node, scenario.server.node}
    used.update(spec.node for spec in scenario.chain.functions)
    for node in sorted(used - set(config.hosts)):
        raise WorkflowError(
            f"`hosts` names hypervisors for other nodes, but none for the node {node}",
            where="/infrastructure/config/hosts",
            hint=f'add "{node}", or leave `hosts` out to let the cloud place all VMs',
        )


def _check_places(scenarios: Sequence[Scenario], config: Config) -> None:
    """Refuse scenarios that differ in placement if no hypervisors are named: they would be built
    alike, and must not be compared."""
    if not config.hosts and len({_places(scenario) for scenario in scenarios}) > 1:
        raise WorkflowError(
            "the scenarios differ in placement, but no hypervisors are named, so the cloud "
            "would place all of them alike",
            where="/infrastructure/config/hosts",
            hint="name a hypervisor for each node (needs the rights of an administrator), or use "
            "one topology",
        )


def _check_sizes(scenarios: Sequence[Scenario], config: Config) -> None:
    """Refuse scenarios that differ in resources if one flavor would make their VMs alike."""
    sizes: dict[str, set[Resources | None]] = {}
    for scenario in scenarios:
        for end in (scenario.client, scenario.server):
            if config.flavor or options_of(end).flavor:
                sizes.setdefault(end.name, set()).add(end.resources)
        if config.flavor:
            for spec in scenario.chain.functions:
                sizes.setdefault(spec.vnf, set()).add(spec.resources)
    for name, resources in sizes.items():
        if len(resources) > 1:
            raise WorkflowError(
                f"the scenarios differ in the resources of {name}, but with a named flavor all its "
                "VMs would be alike",
                where="/infrastructure/config/flavor",
                hint="name none, here and in the endpoints' options: each size then gets the "
                "smallest flavor that suffices",
            )


def _places(scenario: Scenario) -> tuple[str, ...]:
    """Return the nodes of client, server and functions. Without functions, the node that the
    topology has for a chain stands in."""
    chain = sorted({spec.node for spec in scenario.chain.functions})
    chain = chain or [scenario.topology.placement.get("chain", scenario.client.node)]
    return (scenario.client.node, scenario.server.node, *chain)
