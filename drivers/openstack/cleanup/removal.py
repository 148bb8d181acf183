"""Removal of all resources of one kind, until none is left or time is over."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Self

from sfcperf import waiting
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.drivers.openstack.resources.operations import delete, find_named
from sfcperf.drivers.openstack.resources.resource_types import id_of
from sfcperf.drivers.parallel import each
from sfcperf.errors import SfcperfError


@dataclass(frozen=True)
class FoundResource:
    """A resource that is there."""

    kind: Kind
    name: str
    raw: Any
    """The resource as `find_named` gives it: openstacksdk's or Tacker's object, or an id."""

    @property
    def line(self) -> str:
        """Kind, name and id of the resource, for the user."""
        id_ = id_of(self.raw)
        return f"{self.kind} {self.name}" + ("" if id_ == self.name else f" ({id_})")

    @property
    def is_being_deleted(self) -> bool:
        """Whether it is a stack that heat is deleting now."""
        return self.kind == Kind.STACK and self.raw.status == "DELETE_IN_PROGRESS"


@dataclass(frozen=True)
class RemovalFailure:
    """A resource that could not be removed."""

    what: str
    """What could not be removed, for messages: as a rule kind, name and id of a resource."""
    why: str
    hint: str | None = None
    no_answer: bool = False
    """Whether the service gave no usable answer until the retries were over. It then gets no
    further requests."""

    @classmethod
    def of(cls, what: str, error: SfcperfError) -> Self:
        """Make it from the error of a removal."""
        no_answer = isinstance(error, CloudError) and error.is_transient
        return cls(what, error.message, error.hint, no_answer)


def present(cloud: Cloud, kind: Kind, names: Collection[str]) -> list[FoundResource]:
    """Find all resources of these names, duplicates too. Raises CloudError."""
    return [FoundResource(kind, name, raw) for name, raw in find_named(cloud, kind, names)]


def clear(
    cloud: Cloud, kind: Kind, names: Iterable[str], failures: list[RemovalFailure]
) -> list[FoundResource]:
    """Remove all resources of these names, wait until they are gone, and return those that were
    there. What stays is added to `failures`; no error of the cloud is raised."""
    names = list(dict.fromkeys(names))
    removal = _Removal(cloud, kind)
    end = time.monotonic() + cloud.retry.removal_timeout_s
    try:
        while left := present(cloud, kind, names):
            removal.request(left)
            if removal.no_answer or time.monotonic() > end:
                failures += [removal.failure(found) for found in left]
                break
            waiting.sleep(cloud.retry.removal_poll_s)
    except SfcperfError as error:
        failures += [RemovalFailure.of(f"{kind} {name}", error) for name in names]
    return list(removal.seen.values())


class _Removal:
    """Requests the deletion of resources of one kind, and keeps what was seen and what failed.
    `clear` calls `request` again and again, with what is still there."""

    def __init__(self, cloud: Cloud, kind: Kind) -> None:
        self.cloud = cloud
        self.kind = kind
        self.seen: dict[str, FoundResource] = {}
        """Id -> resource, of all that were there."""
        self._requested_at: dict[str, float] = {}
        """Id -> time of the latest request, seconds of the monotonic clock."""
        self._errors: dict[str, CloudError] = {}
        """Id -> error of the latest request, if it failed."""

    def request(self, left: Iterable[FoundResource]) -> None:
        """Request the deletion of all that are `left`, at the same time, except where it was
        requested a moment ago."""
        retry, now = self.cloud.retry, time.monotonic()
        due = []
        for found in left:
            id_ = id_of(found.raw)
            self.seen.setdefault(id_, found)
            again_s = retry.deleting_again_s if found.is_being_deleted else retry.delete_again_s
            if now - self._requested_at.get(id_, -again_s) >= again_s:
                self._requested_at[id_] = now
                due.append(found)
        each(*(lambda f=found: self._delete(f) for found in due))

    @property
    def no_answer(self) -> bool:
        """Whether retries of a request ended without an answer."""
        return any(error.is_transient for error in self._errors.values())

    def failure(self, found: FoundResource) -> RemovalFailure:
        """Say why a resource is still there."""
        error = self._errors.get(id_of(found.raw))
        if error is None:
            timeout_s = self.cloud.retry.removal_timeout_s
            return RemovalFailure(
                found.line, f"it still exists {timeout_s:g} s after its deletion was requested"
            )
        return RemovalFailure.of(found.line, error)

    def _delete(self, found: FoundResource) -> None:
        """Request the deletion of one, and note an error of the cloud for `failure`. That the
        resource is gone (404) is none."""
        id_ = id_of(found.raw)
        try:
            delete(self.cloud, self.kind, found.name, found.raw)
            self._errors.pop(id_, None)
        except CloudError as error:
            if error.status != 404:
                self._errors[id_] = error
