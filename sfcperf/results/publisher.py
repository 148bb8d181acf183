"""Publisher: brings results to where people look at them (report, Elasticsearch, package)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.plugins import Plugin, Requirement
from sfcperf.results.store import RunStore


class Publisher(Plugin, ABC):
    """A plug-in of the entry-point group `sfcperf.publishers`; the workflow names it in `publish`.

    Order of calls: when the trials are done and the analyses have written their files, control
    makes one object per entry of `publish` and calls `publish` once, entry by entry in the order of
    the workflow, in the process that holds the lock of the run folder. A publisher may therefore
    use the files of those before it (`package` packs the report).

    A publisher reads the run folder alone. `sfcperf report` and `sfcperf index` publish a run again
    at any time and in any state (interrupted, without trials, without summaries); publishing twice
    must give the same result as publishing once. Calls come one at a time, from the main thread,
    where a signal may interrupt them: what was published before must still be whole.
    """

    name: ClassVar[str]
    """Name of its entry point, as workflows use it."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """`parameters`: those of this publisher's entry in the workflow. They fit the class's
        schema `parameters`, and the defaults are filled in."""
        # `parameters` of the class is the schema; `parameters` of an object has the values.
        self.parameters = parameters  # type: ignore[misc]

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Return what this machine must have, by default nothing. It is checked before the first
        trial."""
        return []

    @abstractmethod
    def publish(self, run: RunStore) -> list[Path]:
        """Publish a run; return the files that were written (none if it went to a server).

        A file is written as a whole (`sfcperf.results.files.replace_file`), into the run folder
        unless a parameter says otherwise. Raises SfcperfError with a message for the user, e.g.
        EnvironmentLacks for a server that does not answer. Whatever is raised is recorded as a
        problem of the run, and the next publisher is called.
        """
