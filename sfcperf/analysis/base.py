"""Analysis: from the records of a run to derived results (paper: analysis module)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sfcperf.plugins import Plugin
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from sfcperf.workflow.model import Workflow

NO_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}


def list_of_names(description: str, **more: Any) -> Mapping[str, Any]:
    """Return the JSON Schema of a parameter that is a list of distinct names. `more`: further
    keywords of the schema, which override those given here."""
    return {
        "description": description,
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "uniqueItems": True,
        **more,
    }


class Analysis(Plugin, ABC):
    """Derives a result from a run folder: trials.jsonl, telemetry.parquet, run.json, plan.json.

    An analysis never touches the infrastructure and does not change what it reads. It gives the
    same result whenever it runs on the same folder, so `sfcperf report` can repeat it.

    Life cycle: the loader validates the workflow's parameters against the class's `parameters` (a
    JSON Schema) and fills in defaults. An object is made with them and `check` is called before
    the run begins; another is made and `analyse` is called once when the run has ended. Both calls
    come from the main thread. Units are those of the records (`rtt_us`: us).
    """

    name: ClassVar[str]
    """Name in the workflow's `analyses` and in the entry point."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Keep `parameters`, which are validated and have defaults filled in."""
        # The class attribute is the schema, the object's attribute its values.
        self.parameters = parameters  # type: ignore[misc]

    def check(self, workflow: Workflow) -> None:
        """Find errors before the run begins, e.g. in files that `parameters` name (relative paths
        start at `workflow.folder`). Does nothing by default.

        Raises InputError, with the file and line where there is one.
        """

    @abstractmethod
    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Derive the result, write it into the run folder, and return it as a JSON document.

        A run that has nothing to analyse is not an error. Raises InputError if the run folder or a
        file that `parameters` name is damaged.
        """
