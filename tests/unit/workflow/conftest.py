"""Fixtures of the workflow engine's tests: only known plug-ins are installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.workflows.plugins import INSTALLED, document

from sfcperf import plugins
from sfcperf.errors import EnvironmentLacks, WorkflowError
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Only the plug-ins above are installed; gives those that were imported, as they are."""
    seen: list[tuple[str, str]] = []

    def load(kind: str, name: str) -> Any:
        seen.append((kind, name))
        plugin = INSTALLED[kind][name]
        if plugin is None:
            raise EnvironmentLacks(f"the {kind} plug-in {name!r} cannot be imported")
        return plugin

    monkeypatch.setattr(plugins, "names", lambda kind: tuple(sorted(INSTALLED[kind])))
    monkeypatch.setattr(plugins, "load", load)
    return seen


@pytest.fixture(scope="module")
def fakes() -> Any:
    """The known plug-ins, for a whole module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "names", lambda kind: tuple(sorted(INSTALLED[kind])))
        patch.setattr(plugins, "load", lambda kind, name: INSTALLED[kind][name])
        yield


Load = Callable[..., Workflow]


@pytest.fixture
def load(loaded: list[tuple[str, str]], tmp_path: Path) -> Load:
    """`load(key=value, ...)`: the small workflow, changed, loaded."""

    def run(*, overrides: tuple[str, ...] = (), driver: str | None = None, **keys: Any) -> Workflow:
        return load_document(document(**keys), tmp_path, overrides=overrides, driver=driver)

    return run


@pytest.fixture
def refused(load: Load) -> Callable[..., WorkflowError]:
    """`refused(key=value, ...)`: the error that the small workflow, changed, gives."""

    def run(**keys: Any) -> WorkflowError:
        with pytest.raises(WorkflowError) as caught:
            load(**keys)
        return caught.value

    return run
