"""PreparedReplay: a packaged run, ready to be shown or executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.package.replay.packaged import PackagedModule
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Workflow


@dataclass(frozen=True)
class PreparedReplay:
    """A packaged run, ready to be shown or executed."""

    packaged: RunStore
    source: Mapping[str, Any]
    """The packaged workflow without its analyses and publishers, before the user's options."""
    workflow: Workflow
    """The workflow with the user's options, loaded with stand-ins for the package's plug-ins: what
    the user is shown."""
    base: str
    """Folder in the package where relative paths of the workflow start; it need not exist."""
    modules: tuple[PackagedModule, ...]
    """Modules of the package whose plug-ins the workflow uses."""
    unused: tuple[PackagedModule, ...]
    """Modules of the package that the workflow does not use; they are not imported."""
    files: Mapping[str, str]
    """Files of the package that are read when the workflow runs: path in the package -> SHA-256."""
    shown: tuple[str, ...]
    """What the workflow does, for people."""
