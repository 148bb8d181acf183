"""WatchedJournal: a run's journal that looks whether resources are written down in time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from sfcperf.drivers.base import Driver, Resource
from sfcperf.drivers.journal import FileJournal


class WatchedJournal:
    """The journal of real runs, so that what it keeps of a resource is what `undo` gets."""

    def __init__(self, file: Path, driver_class: type[Driver]) -> None:
        self._file = FileJournal(file)
        self._driver_class = driver_class
        self._lock = Lock()
        self.ever: list[Resource] = []
        """All that was intended, the newest first, each once."""
        self.too_late: list[str] = []
        """What was there already when it was intended, as `undo` finds it."""

    def intend(self, resources: Iterable[Resource]) -> None:
        """Note them, after a look whether they are there: then they were made too early, or are
        somebody else's, and `undo` would remove them."""
        new = list(resources)
        known = {(each.kind, each.name) for each in self._file.outstanding()}
        fresh = [each for each in new if (each.kind, each.name) not in known]
        there = self._driver_class.undo(fresh[::-1], dry_run=True) if fresh else []
        with self._lock:
            self.too_late += there
            again = {(each.kind, each.name) for each in new}
            kept = [each for each in self.ever if (each.kind, each.name) not in again]
            self.ever = [*new[::-1], *kept]
        self._file.intend(new)

    def removed(self, resources: Iterable[Resource]) -> None:
        """See Journal.removed."""
        self._file.removed(resources)

    def outstanding(self) -> list[Resource]:
        """See Journal.outstanding."""
        return self._file.outstanding()
