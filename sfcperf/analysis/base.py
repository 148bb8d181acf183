"""Analysis: from the records of a run to derived results (paper: analysis module)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.plugins import Plugin
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from sfcperf.workflow.model import Workflow


class Analysis(Plugin, ABC):
    """Reads a run's record of truth (trials.jsonl, telemetry.parquet), never the infrastructure."""

    name: ClassVar[str]

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # On the class the schema, on the object its values.
        self.parameters = parameters  # type: ignore[misc]

    def check(self, workflow: Workflow) -> None:
        """What can be known to be wrong before a run begins, e.g. with files that `parameters`
        name; relative paths start at the workflow's folder. Raises InputError."""

    @abstractmethod
    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Derive a JSON document; writing it where it belongs is the analysis's own work."""
