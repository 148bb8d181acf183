"""Chains by networking-sfc: port pairs, port pair groups, flow classifier, port chain.

Each function's machine has one port pair in one group, which stay as long as the machine, or until
it gets packets in another encapsulation. Chain and classifier are made for each scenario, even if
an existing chain could be led through other groups: no scenario inherits flows of the one before,
and some releases keep the old order of groups that were in the chain already.

networking-sfc does not tell when switches have the flows: the traversal proof, with packets, does.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.cleanup.chain_parts import parts_at
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.model.specs import (
    DATA,
    EGRESS,
    INGRESS,
    PREFIX_LENGTH,
    ChainPlan,
    Correlation,
    ExistingMachine,
)
from sfcperf.drivers.openstack.network.ports import Port, bound_port
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext, NamedResource
from sfcperf.drivers.openstack.resources.resource_types import id_of
from sfcperf.drivers.parallel import each
from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Match

EXTENSIONS = ("sfc", "flow_classifier")
REMEDY = (
    "install networking-sfc beside the cloud's neutron, which needs ML2 with Open vSwitch agents; "
    "on other clouds (OVN), --set infrastructure.config.chaining=overlay"
)
REMOVAL_TIMEOUT_S = 60.0
"""How long the removal of a port pair or its group may take."""
_ALL = "0.0.0.0/0"


def requirements(cloud: Cloud) -> list[Requirement]:
    """Require networking-sfc's extensions of neutron."""
    offered = cloud.network_extensions()
    return [
        Requirement(
            f"neutron extension {alias}",
            alias in offered,
            "available" if alias in offered else "the cloud's neutron does not offer it",
            "" if alias in offered else REMEDY,
        )
        for alias in EXTENSIONS
    ]


def check_unused(cloud: Cloud, machine: ExistingMachine) -> None:
    """Check that no chain and no port pair of the project uses the port of an existing machine:
    another chain there would take its packets. Raises EnvironmentLacks, also for a port that
    belongs to no machine."""
    port = bound_port(cloud, machine)
    users = [p for p in parts_at(cloud, {port.id}) if p.kind in (Kind.CHAIN, Kind.PAIR)]
    if users:
        raise EnvironmentLacks(
            f"the port {machine.port} is in use by the {users[0].line}",
            where=f"/endpoints/{machine.name}/options/machine/port",
            hint="wait for the run that made it, or run `sfcperf clean` if that was killed; or use "
            "another port",
        )


def classifier(
    match: Match, source: Port, destination: Port, *, symmetric: bool, any_address: bool = False
) -> dict[str, Any]:
    """Return which packets the chain takes, by the names of networking-sfc's API.

    `source` and `destination` are the ports of client and server. Packets enter the chain at the
    first; replies, if it is `symmetric`, at the second. If the workflow names no source address,
    the endpoints' network is matched: networking-sfc compares the classifiers of a project's chains
    by addresses, not by ports, and would allow no other run at the same time. The destination
    address may be the virtual one of a load balancer; if none is named, networking-sfc takes the
    address of the destination port. With `any_address`, an address that the workflow does not name
    may be any.
    """
    network = str(IPv4Network(f"{source.address}/{PREFIX_LENGTH}", strict=False))
    fields: dict[str, Any] = {
        "ethertype": "IPv4",
        "protocol": None if match.ip_proto == "any" else match.ip_proto,
        "source_ip_prefix": match.source or (_ALL if any_address else network),
        "destination_ip_prefix": match.destination or (_ALL if any_address else None),
        "source_port_range_min": match.source_port,
        "source_port_range_max": match.source_port,
        "destination_port_range_min": match.destination_port,
        "destination_port_range_max": match.destination_port,
        "logical_source_port": source.id,
        "logical_destination_port": destination.id if symmetric else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def classifier_of(plan: ChainPlan, machines: Mapping[str, Machine]) -> dict[str, Any]:
    """Return the classifier of a chain between machines."""
    source, destination = (machines[end].ports[DATA] for end in (plan.client, plan.server))
    return classifier(
        plan.match,
        source,
        destination,
        symmetric=plan.symmetric,
        any_address=plan.any_address,
    )


def chain_resources(context: LifecycleContext) -> list[NamedResource]:
    """Chain and classifier of the run."""
    return [(kind, context.names.run) for kind in (Kind.CHAIN, Kind.CLASSIFIER)]


def facts(
    chain_id: str, chained_by: str, correlation: Any, symmetric: bool, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the facts of a chain for the results. `fields`: its classifier."""
    return {
        "chain": chain_id,
        "chained_by": chained_by,
        "correlation": correlation,
        "symmetric": symmetric,
        "classifier": {k: v for k, v in fields.items() if not k.startswith("logical_")},
    }


def chain(
    context: LifecycleContext, plan: ChainPlan, machines: Mapping[str, Machine]
) -> dict[str, Any]:
    """Make the chain, in place of an earlier one, and return facts for the results."""
    cloud = context.cloud
    context.intend(chain_resources(context))
    # First, because a pair cannot be removed while its group is in a chain.
    unchain(context)
    groups = each(
        *(lambda n=name: _group(cloud, machines[n], plan.correlation) for name in plan.functions)
    )
    fields = classifier_of(plan, machines)
    network, run = cloud.connection.network, context.names.run
    matching = operations.create(
        cloud, Kind.CLASSIFIER, run, network.create_sfc_flow_classifier, **fields
    )
    made = operations.create(
        cloud,
        Kind.CHAIN,
        run,
        network.create_sfc_port_chain,
        port_pair_groups=groups,
        flow_classifiers=[matching.id],
        chain_parameters={"correlation": plan.correlation, "symmetric": plan.symmetric},
    )
    correlation = dict(made.chain_parameters or {}).get("correlation", plan.correlation)
    return facts(id_of(made), "networking-sfc", correlation, plan.symmetric, fields)


def unchain(context: LifecycleContext) -> None:
    """Remove chain and classifier; pairs and groups stay with their machines."""
    for kind, name in chain_resources(context):
        for found in operations.find(context.cloud, kind, name):
            operations.delete(context.cloud, kind, name, found)


def _group(cloud: Cloud, machine: Machine, correlation: Correlation) -> str:
    """Make the port pair of a function's machine and the pair's group; return the id of the group.
    With NSH, the pair gets NSH frames; without, plain IP. The correlation of a pair cannot be
    changed, so a pair that was made for the other encapsulation is replaced."""
    network, name = cloud.connection.network, machine.plan.name
    nsh = correlation == "nsh"
    parameters = {"correlation": "nsh"} if nsh else {}
    for pair in operations.find(cloud, Kind.PAIR, name):
        if (dict(pair.service_function_parameters or {}).get("correlation") == "nsh") != nsh:
            for kind in (Kind.PAIR_GROUP, Kind.PAIR):
                operations.await_removal(cloud, kind, name, REMOVAL_TIMEOUT_S)
    make_pair, make_group = network.create_sfc_port_pair, network.create_sfc_port_pair_group
    pair = operations.create(
        cloud,
        Kind.PAIR,
        name,
        make_pair,
        ingress=machine.ports[INGRESS].id,
        egress=machine.ports[EGRESS].id,
        service_function_parameters=parameters,
    )
    group = operations.create(cloud, Kind.PAIR_GROUP, name, make_group, port_pairs=[pair.id])
    return id_of(group)
