"""Chains by networking-sfc: port pairs, port pair groups, flow classifier, port chain.

Each function's machine has one port pair in one group, which stay as long as the machine. Chain and
classifier are made anew for each scenario, also where a standing chain could be led through other
groups: no visit of a scenario inherits flows of the one before, and some releases keep the old
order of groups that were in the chain already.

networking-sfc says nothing of when switches have the flows: that a chain is crossed is proven by
packets (traversal), not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.lifecycle.base import Machine, Port, Workshop
from sfcperf.drivers.openstack.model.specs import DATA, EGRESS, INGRESS, PREFIX_LENGTH, ChainPlan
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Match

EXTENSIONS = ("sfc", "flow_classifier")


def requirements(cloud: Cloud) -> list[Requirement]:
    """networking-sfc's extensions of neutron."""
    network = cloud.connection.network
    there = cloud.call(
        "listing neutron's extensions", lambda: {each.alias for each in network.extensions()}
    )
    return [
        Requirement(
            f"neutron extension {alias}",
            alias in there,
            "is there" if alias in there else "the cloud's neutron does not offer it",
            "" if alias in there else "networking-sfc must be installed beside the cloud's neutron",
        )
        for alias in EXTENSIONS
    ]


def classifier(match: Match, source: Port, destination: Port, *, symmetric: bool) -> dict[str, Any]:
    """What the chain takes, in the words of networking-sfc's API (heat's are the same).

    Packets enter by the port that they come from; replies, in a symmetric chain, by that of their
    sender. Where the workflow says no source, the endpoints' network is matched: networking-sfc
    compares the classifiers of a project's chains by addresses, not by ports, and would let no
    other run beside this one. The destination may be a virtual address, of a load balancer.
    """
    fields: dict[str, Any] = {
        "ethertype": "IPv4",
        "protocol": None if match.ip_proto == "any" else match.ip_proto,
        "source_ip_prefix": match.source or _network(source),
        "destination_ip_prefix": match.destination,
        "source_port_range_min": match.source_port,
        "source_port_range_max": match.source_port,
        "destination_port_range_min": match.destination_port,
        "destination_port_range_max": match.destination_port,
        "logical_source_port": source.id,
        "logical_destination_port": destination.id if symmetric else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _network(port: Port) -> str:
    return str(IPv4Network(f"{port.address}/{PREFIX_LENGTH}", strict=False))


def classifier_of(plan: ChainPlan, machines: Mapping[str, Machine]) -> dict[str, Any]:
    """The classifier of a chain between machines."""
    source, destination = (machines[end].ports[DATA] for end in (plan.client, plan.server))
    return classifier(plan.match, source, destination, symmetric=plan.symmetric)


def chain(workshop: Workshop, plan: ChainPlan, machines: Mapping[str, Machine]) -> dict[str, Any]:
    """Make the chain, in place of one that is there; gives facts for the results."""
    run = workshop.names.run
    ours = [
        operations.resource(workshop.cloud, kind, run) for kind in (Kind.CLASSIFIER, Kind.CHAIN)
    ]
    workshop.journal.intend(ours)
    groups = each(*(lambda n=name: _group(workshop.cloud, machines[n]) for name in plan.functions))
    fields = classifier_of(plan, machines)
    unchain(workshop)
    made = _new(workshop.cloud, run, fields, groups, plan.symmetric)
    return {
        "chain": operations.identity(made),
        "chained_by": "networking-sfc",
        "correlation": dict(made.chain_parameters or {}).get("correlation", "mpls"),
        "symmetric": plan.symmetric,
        "classifier": {k: v for k, v in fields.items() if not k.startswith("logical_")},
    }


def unchain(workshop: Workshop) -> None:
    """Remove chain and classifier; pairs and groups stay with their machines."""
    cloud, run = workshop.cloud, workshop.names.run
    for kind in (Kind.CHAIN, Kind.CLASSIFIER):
        for found in operations.every(cloud, kind, run):
            operations.delete(cloud, kind, run, found)


def _group(cloud: Cloud, machine: Machine) -> str:
    """Id of the group of a function's port pair."""
    network, name = cloud.connection.network, machine.plan.name
    pair = operations.ensure(
        cloud,
        Kind.PAIR,
        name,
        lambda: network.create_sfc_port_pair(
            name=name, ingress=machine.ports[INGRESS].id, egress=machine.ports[EGRESS].id
        ),
    )
    group = operations.ensure(
        cloud,
        Kind.PAIR_GROUP,
        name,
        lambda: network.create_sfc_port_pair_group(name=name, port_pairs=[pair.id]),
    )
    return operations.identity(group)


def _new(
    cloud: Cloud, run: str, fields: Mapping[str, Any], groups: Sequence[str], symmetric: bool
) -> Any:
    network = cloud.connection.network
    matching = operations.ensure(
        cloud,
        Kind.CLASSIFIER,
        run,
        lambda: network.create_sfc_flow_classifier(name=run, **fields),
    )
    return operations.ensure(
        cloud,
        Kind.CHAIN,
        run,
        lambda: network.create_sfc_port_chain(
            name=run,
            port_pair_groups=list(groups),
            flow_classifiers=[matching.id],
            chain_parameters={"correlation": "mpls", "symmetric": symmetric},
        ),
    )
