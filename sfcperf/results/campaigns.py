"""Campaigns: runs of one workflow, measured one after the other (`sfcperf run --repeat`).

Nothing but the runs is kept: run.json of each names its campaign and its number.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.store import RunStore

PREFIX = "repeat-"
"""Start of a campaign's id. It tells a campaign from a run, whose id begins with a date."""


@dataclass(frozen=True)
class Repeat:
    """The place of a run in its campaign: `repeat` in run.json."""

    index: int
    """Number of the run in its campaign, from 1."""
    of: int
    """Number of planned runs."""
    campaign: str

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Repeat | None:
        """Read the place from run.json; None for a run that belongs to no campaign."""
        found = manifest.get("repeat")
        return None if found is None else cls(found["index"], found["of"], found["campaign"])


def new_campaign(name: str) -> str:
    """Return the id of a new campaign of the workflow with this name."""
    tag = "".join(secrets.choice(string.digits + string.ascii_lowercase) for _ in range(6))
    return f"{PREFIX}{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}-{tag}"


def campaign_runs(results: Path, campaign: str) -> list[RunStore]:
    """Return the runs of a campaign in a results folder, in the order of their numbers. Raises
    InputError if the folder cannot be read, or has two runs with the same number."""
    found: dict[int, RunStore] = {}
    for store, repeat in _repeats(results):
        if repeat.campaign != campaign:
            continue
        if repeat.index in found:
            raise InputError(
                f"{found[repeat.index].folder} is run {repeat.index} of this campaign, too",
                where=str(store.folder),
                hint="move the copy elsewhere, or name the runs: RUN,RUN,RUN",
            )
        found[repeat.index] = store
    return [found[index] for index in sorted(found)]


def campaigns_of(results: Path, workflow: str) -> list[str]:
    """Return the ids of all campaigns of the workflow with this name in a results folder, the
    oldest first."""
    began: dict[str, str] = {}
    for store, repeat in _repeats(results):
        manifest = store.manifest()
        if manifest["name"] == workflow:
            # Campaigns are sorted by this, since their ids tell the time only to the second.
            started = manifest["started_at"]
            began[repeat.campaign] = min(began.get(repeat.campaign, started), started)
    return sorted(began, key=began.__getitem__)


def _repeats(results: Path) -> list[tuple[RunStore, Repeat]]:
    """Return all runs that belong to a campaign, with their places in it. Folders that are no runs,
    or damaged, are ignored."""
    found = []
    with system_errors_as(InputError, "the results folder cannot be read", where=results):
        folders = sorted(path for path in results.iterdir() if path.is_dir())
    for folder in folders:
        try:
            store = RunStore.open(folder)
            repeat = Repeat.of_manifest(store.manifest())
        except InputError:
            continue
        if repeat is not None:
            found.append((store, repeat))
    return found
