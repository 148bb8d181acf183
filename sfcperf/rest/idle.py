"""Idle connections: those that ask for nothing must not keep others out of a server."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
LONGEST_S = 10.0
"""How long a connection may take for a whole request."""
SETTLE_S = 1.0
"""A connection that is younger than this is not ended: it may have sent a request that nobody has
read yet."""


def most_idle() -> int:
    """How many idle connections are allowed: 64, and not more than a quarter of the descriptors
    that this process may have."""
    return min(64, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)


class IdleConnections(Generic[T]):
    """Remembers since when each connection of a server has been waiting for a request: since the
    first call of `overdue` that lists it. Only one thread may use it."""

    def __init__(
        self, longest_s: float = LONGEST_S, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._longest_s = longest_s
        self._now = now
        self._since: dict[T, float] = {}

    def overdue(self, waiting: Iterable[T]) -> list[T]:
        """Return which of the connections that are waiting now are to be ended, because they have
        waited for too long or are the oldest of too many. Call it several times a second."""
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in waiting}
        oldest_first = sorted(self._since, key=self._since.__getitem__)
        surplus = len(oldest_first) - most_idle()
        return [
            each
            for number, each in enumerate(oldest_first)
            if now - self._since[each] > (SETTLE_S if number < surplus else self._longest_s)
        ]
