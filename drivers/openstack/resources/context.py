"""LifecycleContext: what all parts of the driver work with during a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfcperf.drivers.base import Journal, Resource
from sfcperf.drivers.openstack.api import Cloud
from sfcperf.drivers.openstack.model import Config, Names
from sfcperf.drivers.openstack.resources.resource_kinds import Kind

NamedResource = tuple[Kind, str]


@dataclass(frozen=True)
class LifecycleContext:
    """The cloud and the journal of one run."""

    cloud: Cloud
    config: Config
    names: Names
    journal: Journal

    def entries(self, resources: Iterable[NamedResource]) -> list[Resource]:
        """As the journal has them."""
        detail = self.cloud.detail
        return [Resource(kind, name, detail) for kind, name in resources]

    def intend(self, resources: Iterable[NamedResource]) -> None:
        """Journal them before they are made."""
        self.journal.intend(self.entries(resources))
