"""Publisher: brings results where people look at them (report, Elasticsearch, package)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.plugins import Plugin
from sfcperf.results.store import RunStore


class Publisher(Plugin, ABC):
    """Works from the run folder alone, so that publishing can be repeated at any time."""

    name: ClassVar[str]

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # On the class the schema, on the object its values.
        self.parameters = parameters  # type: ignore[misc]

    @abstractmethod
    def publish(self, run: RunStore) -> list[Path]:
        """Publish; gives the files that were made (none for a server)."""
