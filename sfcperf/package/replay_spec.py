"""What the process that runs a replay is told (sfcperf.cli.replay_child reads it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReplaySpec:
    """What to run. Written by `sfcperf.package.replay`, never by a package."""

    document: dict[str, Any]
    """The workflow."""
    base: str
    """Folder where its relative paths start."""
    overrides: list[str]
    driver: str | None
    profile: dict[str, Any] | None
    """Fields of a `workflow.profile.Profile`."""
    results: str
    resume: str | None
    """Run folder to continue; None: a new run."""
    command: list[str]
    """To be recorded."""
    quiet: bool
    answer: str
    """File to write the run folder's path to."""
    parent: int
    """Process that waits for this one."""
    repeat: dict[str, Any] | None = None
    """Fields of a `results.campaigns.Repeat`: the place of a new run among those of this replay."""
