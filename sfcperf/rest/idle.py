"""Idle connections: whoever connects to a server and asks for nothing must not keep others out."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
LONGEST_S = 10.0
"""For a whole request."""
SETTLE_S = 1.0
"""A connection that is younger may have asked already, and nobody has read it yet."""


def most_idle() -> int:
    """Idle connections, at most: they take a quarter of the descriptors that a process may have."""
    return min(64, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)


class IdleConnections(Generic[T]):
    """The connections of one server that wait for a request. Not for several threads."""

    def __init__(
        self, longest_s: float = LONGEST_S, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._longest_s = longest_s
        self._now = now
        self._since: dict[T, float] = {}

    def overdue(self, waiting: Iterable[T]) -> list[T]:
        """Those of all that wait now which are to be ended: they have waited for too long, or are
        the oldest of too many. To be called several times a second."""
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in waiting}
        oldest_first = sorted(self._since, key=self._since.__getitem__)
        surplus = len(oldest_first) - most_idle()
        return [
            each
            for number, each in enumerate(oldest_first)
            if now - self._since[each] > (SETTLE_S if number < surplus else self._longest_s)
        ]
