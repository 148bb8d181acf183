"""The latest overflow notifications of all switches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sfcperf.dataplane.sdnmon.controller.messages import Overflow

KEPT = 1000
"""How many notifications are kept."""


@dataclass(frozen=True)
class Notification:
    """An overflow notification with its number, from 1 since the controller was started."""

    number: int
    switch_id: int
    overflow: Overflow


class Notifications:
    """Keeps the latest overflow notifications. One thread adds them, others may read."""

    def __init__(self) -> None:
        self._kept: deque[Notification] = deque(maxlen=KEPT)
        self._count = 0

    def add(self, switch_id: int, overflow: Overflow) -> None:
        """Keep one more notification."""
        self._count += 1
        self._kept.append(Notification(self._count, switch_id, overflow))

    def after(self, number: int) -> list[Notification]:
        """Return the kept notifications with a greater number, in order."""
        return [each for each in self._kept.copy() if each.number > number]
