"""ServiceJournal: the share of one kind of service in a run's journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sfcperf.drivers.base import Journal, Resource

_SERVICE = "service"
"""Key in a resource's details that names the plug-in that removes it."""


@dataclass(frozen=True)
class ServiceJournal:
    """A Journal (sfcperf.drivers.base) that notes for each resource which service it belongs to."""

    whole: Journal
    """Journal of all services."""
    service: str
    """Name of the plug-in."""

    def intend(self, resources: Iterable[Resource]) -> None:
        """Record resources as this service's before they are created."""
        self.whole.intend([self._mine(resource) for resource in resources])

    def removed(self, resources: Iterable[Resource]) -> None:
        """Record that these resources of this service are gone."""
        self.whole.removed([self._mine(resource) for resource in resources])

    def outstanding(self) -> list[Resource]:
        """List this service's resources that are not yet removed, newest first."""
        return [each for each in self.whole.outstanding() if service_of(each) == self.service]

    def _mine(self, resource: Resource) -> Resource:
        """Return a resource with the name of this service in its details."""
        return replace(resource, detail={**(resource.detail or {}), _SERVICE: self.service})


def service_of(resource: Resource) -> str:
    """Name of the plug-in that removes a resource, for resources that a ServiceJournal noted."""
    return str((resource.detail or {}).get(_SERVICE))
