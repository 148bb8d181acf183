"""How to replay, and what the process that runs it is told (sfcperf.cli.replay_child reads it)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.analysis.comparison import Options
from sfcperf.package.replay.packaged import PackagedModule
from sfcperf.results.campaigns import Repeat
from sfcperf.workflow.profile import Profile


@dataclass(frozen=True)
class ReplayOptions:
    """What the user says about a replay: how to run the workflow, and how to judge the results."""

    results: Path
    """Folder in which a new run gets its run folder."""
    overrides: tuple[str, ...] = ()
    driver: str | None = None
    profile: Profile | None = None
    quiet: bool = False
    """Whether the child shows neither the workflow nor its progress."""
    earlier: tuple[Path, ...] = ()
    """Run folders of an earlier replay, one for each packaged run, the first first."""
    resume: Path | None = None
    """Run folder of an earlier replay to continue; None: a new run."""
    repeat: Repeat | None = None
    """The place of a new run among those of this replay, if there are several."""
    others: tuple[Path, ...] = ()
    """Run folders of this replay that exist already. A message names them when the replay ends
    early, so that a user can continue it."""
    comparison: Options | None = None
    """Margins and test; None: the defaults of `sfcperf compare`."""


@dataclass(frozen=True)
class ReplaySpec:
    """What the child process of a replay is told to run. `sfcperf.package.replay.repeat` writes it;
    nothing of a package does."""

    document: str
    """The workflow as JSON, with all options of the user."""
    sha256: str
    """SHA-256 of `document`, as the user was shown it."""
    source: dict[str, Any]
    """The workflow without the user's options; the run folder records it."""
    kept: str
    """Folder with the package's files that the workflow needs."""
    base: str
    """Folder in `kept` where the workflow's relative paths start."""
    files: dict[str, str]
    """Path in `kept` -> SHA-256 of each file that the workflow may use."""
    modules: list[dict[str, Any]]
    """Fields of the `PackagedModule`s to import."""
    results: str
    """Folder in which a new run gets its run folder."""
    resume: str | None
    """Run folder to continue; None: a new run."""
    command: list[str]
    """Command line of the user; the run folder records it."""
    quiet: bool
    answer: str
    """File to write the run folder's path to."""
    parent: int
    """Id of the process that waits for the child."""
    repeat: dict[str, Any] | None = None
    """Fields of a `results.campaigns.Repeat`: the place of a new run among those of this replay."""

    def packaged_modules(self) -> list[PackagedModule]:
        """Return the modules as they were before JSON, which turned their tuples into lists."""
        return [
            PackagedModule(
                **{
                    **module,
                    "names": tuple(module["names"]),
                    "plugins": tuple(map(tuple, module["plugins"])),
                }
            )
            for module in self.modules
        ]
