"""Pieces of chains that hang on the ports of a run, whoever made them and whatever their names.

A life cycle of its own (heat, Tacker) that was stopped midway leaves port pairs, groups,
classifiers and chains under names of its own choice; neutron keeps the ports as long as they are
there. They use ports that carry the run's name, so they are the run's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.cleanup.removal import Found
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind


def dependents(cloud: Cloud, names: Mapping[str, Collection[str]]) -> list[Found]:
    """In the order of removal. `names`: kind -> names in the journal."""
    own = names.get(Kind.PORT)
    ports = (
        {operations.identity(port) for _, port in operations.among(cloud, Kind.PORT, own)}
        if own
        else set()
    )
    if not ports:
        return []
    try:
        return _of_ports(cloud, ports)
    except CloudError as error:
        # A neutron without networking-sfc has no such things.
        if error.status == 404:
            return []
        raise


def _of_ports(cloud: Cloud, ports: set[str]) -> list[Found]:
    pairs = [p for p in _all(cloud, "sfc_port_pairs") if ports & {p.ingress, p.egress}]
    pair_ids = {pair.id for pair in pairs}
    groups = [g for g in _all(cloud, "sfc_port_pair_groups") if pair_ids & set(g.port_pairs or ())]
    group_ids = {group.id for group in groups}
    classifiers = [
        c
        for c in _all(cloud, "sfc_flow_classifiers")
        if ports & {c.logical_source_port, c.logical_destination_port}
    ]
    classifier_ids = {classifier.id for classifier in classifiers}
    chains = [
        c
        for c in _all(cloud, "sfc_port_chains")
        if group_ids & set(c.port_pair_groups or ())
        or classifier_ids & set(c.flow_classifiers or ())
    ]
    return [
        *(Found(Kind.CHAIN, chain.name, chain) for chain in chains),
        *(Found(Kind.CLASSIFIER, each.name, each) for each in classifiers),
        *(Found(Kind.PAIR_GROUP, group.name, group) for group in groups),
        *(Found(Kind.PAIR, pair.name, pair) for pair in pairs),
    ]


def _all(cloud: Cloud, listing: str) -> list[Any]:
    """Of the project."""
    connection = cloud.connection
    project = connection.current_project_id

    def read() -> list[Any]:
        return list(getattr(connection.network, listing)(project_id=project))

    return cloud.call(f"listing {listing.replace('_', ' ')}", read)
