"""What the OpenStack driver refuses before the cloud is asked for anything."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Sequence

from sfcperf import plugins
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import PREFIX_LENGTH
from sfcperf.drivers.openstack.planning.endpoint_options import options_of
from sfcperf.drivers.openstack.planning.machine_specs import needs
from sfcperf.errors import WorkflowError
from sfcperf.vnfs.base import NetworkFunction
from sfcperf.workflow.model import FunctionSpec, Resources, Scenario


def admit(scenarios: Sequence[Scenario], config: Config) -> None:
    """Raises WorkflowError."""
    if (config.management_network is None) == (config.external_network is None):
        raise WorkflowError(
            "it takes one way to the VMs, by SSH",
            where="/infrastructure/config",
            allowed='either "management_network", a network that this machine is in, or '
            '"external_network", from which the client\'s VM gets a floating IP',
        )
    if config.dns_servers and config.external_network is None:
        raise WorkflowError(
            "the management network is not the run's own: it has the name servers that it has",
            where="/infrastructure/config/dns_servers",
            hint='leave it out, or set "external_network"',
        )
    for scenario in scenarios:
        _admit(scenario, config)
    _check_places(scenarios, config)
    _check_sizes(scenarios, config)
    prefixes = {data_prefix(scenario) for scenario in scenarios}
    if len(prefixes) > 1:
        raise WorkflowError(
            "the endpoints of all scenarios share one data network, and their addresses are in "
            + " and ".join(sorted(prefixes)),
            where="/endpoints",
            allowed=f"addresses in one network of /{PREFIX_LENGTH}, or none at all",
        )


def data_prefix(scenario: Scenario, tag: str = "") -> str:
    """IPv4 prefix of the data network: the one that the client is in."""
    client = ipaddress.IPv4Interface(f"{addresses(scenario, tag)[0]}/{PREFIX_LENGTH}")
    return str(client.network)


def _admit(scenario: Scenario, config: Config) -> None:
    needs(scenario, config)
    _check_encapsulation(scenario)
    _check_endpoints(scenario)
    _check_topology(scenario, config)
    for spec in scenario.chain.functions:
        _check_function(spec)


def _check_encapsulation(scenario: Scenario) -> None:
    asked = scenario.chain.encapsulation
    if asked != "auto":
        raise WorkflowError(
            f"there is no {asked} with this driver: it chains by networking-sfc, which carries "
            "packets by MPLS between its switches and gives functions plain IP",
            where="/chain/encapsulation",
            allowed='"auto": the infrastructure\'s own chaining, recorded in the results',
        )


def _check_endpoints(scenario: Scenario) -> None:
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
    pool = list(network.subnets())[1]
    for end in (scenario.client, scenario.server):
        if end.address and ipaddress.IPv4Address(end.address) in pool:
            raise WorkflowError(
                f"the {end.name}'s address {end.address} is in the half of its network from which "
                "the cloud gives functions theirs",
                where=f"/endpoints/{end.name}/address",
                allowed=f"an address in {next(network.subnets())}",
            )


def addresses(scenario: Scenario, tag: str = "") -> tuple[str, str]:
    """IPv4 addresses of client and server in the data network of the run with this tag.

    Where the workflow names none, each run has its own: networking-sfc holds the flow classifiers
    of all chains of a project against each other by prefix and protocol alone, not by network or
    port, so that two runs at once would be in each other's way.
    """
    number = int.from_bytes(hashlib.sha256(tag.encode()).digest()[:2], "big") % (64 * 256)
    own = f"10.{64 + number // 256}.{number % 256}"
    return scenario.client.address or f"{own}.1", scenario.server.address or f"{own}.2"


def _check_topology(scenario: Scenario, config: Config) -> None:
    for number, link in enumerate(scenario.topology.links):
        if link.rate_bps is not None:
            raise WorkflowError(
                "links between hypervisors are the cloud's own: this driver does not shape them",
                where=f"/topology/links/{number}/rate_bps",
                hint="leave it out, or use the local driver",
            )
    for node in scenario.topology.nodes:
        for name, value in (("vcpus", node.vcpus), ("memory_mib", node.memory_mib)):
            if value is not None:
                raise WorkflowError(
                    "hypervisors have the CPUs and the memory that they have: a node takes no size "
                    "here",
                    where=f"/topology/nodes/{node.name}/{name}",
                    hint="leave it out; VMs get theirs by `resources`",
                )
    _check_hosts(scenario, config)


def _check_hosts(scenario: Scenario, config: Config) -> None:
    if not config.hosts:
        return
    used = {scenario.client.node, scenario.server.node}
    used.update(spec.node for spec in scenario.chain.functions)
    for node in sorted(used - set(config.hosts)):
        raise WorkflowError(
            f"no hypervisor is named for the node {node}, but for others",
            where="/infrastructure/config/hosts",
            hint=f'add "{node}", or leave `hosts` out and the cloud places all VMs',
        )


def _check_places(scenarios: Sequence[Scenario], config: Config) -> None:
    """Levels that would be built alike must not be compared."""
    if not config.hosts and len({_places(scenario) for scenario in scenarios}) > 1:
        raise WorkflowError(
            "the scenarios differ in where their parts are, and no hypervisors are named: the "
            "cloud would place all of them as it likes",
            where="/infrastructure/config/hosts",
            hint="name a hypervisor for each node (needs the rights of an administrator), or keep "
            "to one topology",
        )


def _check_sizes(scenarios: Sequence[Scenario], config: Config) -> None:
    """Nor levels that one flavor would make alike."""
    sizes: dict[str, set[Resources | None]] = {}
    for scenario in scenarios:
        for end in (scenario.client, scenario.server):
            if config.flavor or options_of(end).flavor:
                sizes.setdefault(end.name, set()).add(end.resources)
        if config.flavor:
            for spec in scenario.chain.functions:
                sizes.setdefault(spec.vnf, set()).add(spec.resources)
    for name, wanted in sizes.items():
        if len(wanted) > 1:
            raise WorkflowError(
                f"the scenarios differ in the resources of {name}, and a flavor is named: all its "
                "VMs would be alike",
                where="/infrastructure/config/flavor",
                hint="name none, here and in the endpoints' options: for each size the smallest "
                "that suffices is taken",
            )


def _places(scenario: Scenario) -> tuple[str, ...]:
    """Which of its nodes is used for what."""
    chain = sorted({spec.node for spec in scenario.chain.functions})
    chain = chain or [scenario.topology.placement.get("chain", scenario.client.node)]
    return (scenario.client.node, scenario.server.node, *chain)


def _check_function(spec: FunctionSpec) -> None:
    kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
    if not kind.takes_plain_ip():
        raise WorkflowError(
            f"a {spec.type} works on NSH only, and this cloud gives its functions plain IP",
            where=f"/vnfs/{spec.vnf}/type",
            hint="choose a type that is NSH-unaware, or the local driver",
        )
