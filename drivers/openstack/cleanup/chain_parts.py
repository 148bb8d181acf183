"""Parts of chains that use the ports of a run, whatever their names.

Tacker leaves port pairs, groups, classifiers and chains with names of its own choice if it is
stopped midway, and neutron keeps the ports as long as they are there. What uses ports with the
run's names belongs to the run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.cleanup.removal import FoundResource
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import find_named
from sfcperf.drivers.openstack.resources.resource_types import id_of


def chain_parts(cloud: Cloud, names: Mapping[Kind, Collection[str]]) -> list[FoundResource]:
    """Find the parts of chains that use the run's ports, in the order of removal. `names`: names of
    resources in the journal."""
    own = names.get(Kind.PORT)
    ports = {id_of(port) for _, port in find_named(cloud, Kind.PORT, own)} if own else set()
    return parts_at(cloud, ports) if ports else []


def parts_at(cloud: Cloud, ports: set[str]) -> list[FoundResource]:
    """Find the project's parts of chains that use the ports with these ids, in the order of
    removal."""
    try:
        return _of_ports(cloud, ports)
    except CloudError as error:
        # A neutron without networking-sfc has none.
        if error.status == 404:
            return []
        raise


def _of_ports(cloud: Cloud, ports: set[str]) -> list[FoundResource]:
    """Find what uses these ports, step by step: port pairs and classifiers at the ports, groups of
    these pairs, chains of these groups or classifiers."""
    pairs = [p for p in cloud.list_own("sfc_port_pairs") if ports & {p.ingress, p.egress}]
    pair_ids = {pair.id for pair in pairs}
    groups = [
        g for g in cloud.list_own("sfc_port_pair_groups") if pair_ids & set(g.port_pairs or ())
    ]
    group_ids = {group.id for group in groups}
    classifiers = [
        c
        for c in cloud.list_own("sfc_flow_classifiers")
        if ports & {c.logical_source_port, c.logical_destination_port}
    ]
    classifier_ids = {classifier.id for classifier in classifiers}
    chains = [
        c
        for c in cloud.list_own("sfc_port_chains")
        if group_ids & set(c.port_pair_groups or ())
        or classifier_ids & set(c.flow_classifiers or ())
    ]
    parts = {
        Kind.CHAIN: chains,
        Kind.CLASSIFIER: classifiers,
        Kind.PAIR_GROUP: groups,
        Kind.PAIR: pairs,
    }
    return [FoundResource(kind, part.name, part) for kind, found in parts.items() for part in found]
