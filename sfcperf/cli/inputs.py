"""From what the user typed to a workflow or a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.cli.shipped import shipped_workflows
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_workflow
from sfcperf.workflow.model import Workflow


def open_workflow(
    name: str, *, overrides: Sequence[str] | None = None, driver: str | None = None
) -> Workflow:
    """Load a file, or a shipped workflow by its name. Raises InputError, WorkflowError."""
    path = Path(name)
    if not path.exists():
        shipped = shipped_workflows()
        if name in shipped:
            path = shipped[name]
        elif path.name == name and not path.suffix:
            raise InputError(
                "there is no such file, and no shipped workflow of this name",
                where=name,
                allowed=", ".join(shipped) or None,
            )
    return load_workflow(path, overrides=overrides or (), driver=driver)


def open_run(name: str, results: Path) -> RunStore:
    """A run folder by its path, or by its name in the results folder. Raises InputError."""
    path = Path(name)
    if not path.exists() and path.name == name:
        path = results / name
    if not path.exists():
        raise InputError(
            "there is no such run", where=name, hint="`sfcperf runs` lists those in --results"
        )
    return RunStore.open(path)
