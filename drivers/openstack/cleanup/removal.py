"""Removal of things of some kinds until none of them is left, or patience is over."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Self

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError, Verdict
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.resources import operations
from sfcperf.errors import SfcperfError
from sfcperf.hosts.abandon import pause

GONE_S = 120.0
"""How long things of one kind may take to go."""
LOOK_EVERY_S = 0.5
ASK_AGAIN_S = 8.0
"""A removal that has no effect is asked for again: the one that was to do it may have died."""


@dataclass(frozen=True)
class Found:
    """A thing that is there."""

    kind: str
    name: str
    raw: Any

    @property
    def line(self) -> str:
        """For people."""
        id_ = operations.identity(self.raw)
        return f"{self.kind} {self.name}" + ("" if id_ == self.name else f" ({id_})")


@dataclass(frozen=True)
class Stuck:
    """A thing that could not be removed."""

    what: str
    why: str
    hint: str | None = None
    silent: bool = False
    """The service did not answer for as long as one waits."""

    @classmethod
    def of(cls, what: str, error: SfcperfError) -> Self:
        """What an error says of it."""
        silent = isinstance(error, CloudError) and error.failure.verdict is Verdict.AGAIN
        return cls(what, error.message, error.hint, silent)


def present(cloud: Cloud, kind: str, names: Collection[str]) -> list[Found]:
    """All things of these names, their doubles too. Raises CloudError."""
    return [Found(kind, name, raw) for name, raw in operations.among(cloud, kind, names)]


def clear(cloud: Cloud, kind: str, names: Iterable[str], stuck: list[Stuck]) -> list[Found]:
    """Remove them all and wait until they are gone; gives those that were there. What stays is
    added to `stuck`, and nothing is raised."""
    names = list(dict.fromkeys(names))
    removal = _Removal(cloud, kind)
    end = time.monotonic() + GONE_S
    try:
        while there := present(cloud, kind, names):
            removal.ask(there)
            if removal.is_silent or time.monotonic() > end:
                stuck += [removal.stuck(found) for found in there]
                break
            pause(LOOK_EVERY_S)
    except SfcperfError as error:
        stuck += [Stuck.of(f"{kind} {name}", error) for name in names]
    return list(removal.seen.values())


class _Removal:
    """Requests to remove things of one kind."""

    def __init__(self, cloud: Cloud, kind: str) -> None:
        self.cloud = cloud
        self.kind = kind
        self.seen: dict[str, Found] = {}
        self._asked_at: dict[str, float] = {}
        self._refused: dict[str, CloudError] = {}

    def ask(self, there: Iterable[Found]) -> None:
        """All of them at the same time; those that were asked a moment ago are left alone."""
        now = time.monotonic()
        due = []
        for found in there:
            id_ = operations.identity(found.raw)
            self.seen.setdefault(id_, found)
            if now - self._asked_at.get(id_, -ASK_AGAIN_S) >= ASK_AGAIN_S:
                self._asked_at[id_] = now
                due.append(found)
        each(*(lambda f=found: self._delete(f) for found in due))

    @property
    def is_silent(self) -> bool:
        """Whether a request was given up because there was no answer."""
        return any(e.failure.verdict is Verdict.AGAIN for e in self._refused.values())

    def stuck(self, found: Found) -> Stuck:
        """Why it is still there."""
        error = self._refused.get(operations.identity(found.raw))
        if error is None:
            return Stuck(found.line, f"it is still there {GONE_S:g} s after it was deleted")
        return Stuck.of(found.line, error)

    def _delete(self, found: Found) -> None:
        id_ = operations.identity(found.raw)
        try:
            operations.delete(self.cloud, self.kind, found.name, found.raw)
            self._refused.pop(id_, None)
        except CloudError as error:
            if error.status != 404:
                self._refused[id_] = error
