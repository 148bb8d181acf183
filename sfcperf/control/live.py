"""LiveRun: what a run folder shows about a run, while another process may be executing it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfcperf.control.lock import is_held
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore

_CHANGING = (
    RunFile.MANIFEST,
    RunFile.TRIALS,
    RunFile.WARMUP,
    RunFile.GATE,
    RunFile.SUMMARY,
    RunFile.RAW,
)
"""Files and folders whose change shows that the run went on. The raw folder changes when a trial
begins, since each trial gets a folder there."""
_TRIAL = re.compile(r"(?P<kind>[rw])(?P<round>[0-9]{3})(\.[0-9]+)?-(?P<rest>.+)")
"""Id of a trial: `r` or `w` (warm-up), round, number of the rerun if it is one, scenario, probe."""


@dataclass(frozen=True)
class CurrentTrial:
    """A trial that has begun and is not recorded."""

    trial_id: str
    warmup: bool
    round: int
    """Number of its round, from 1; warm-up rounds are counted by themselves."""
    scenario: Mapping[str, Any]
    """Factor -> level of its scenario."""
    label: str
    """Label of its probe."""
    attempt: int
    """Number of the attempt, from 1."""


@dataclass(frozen=True)
class LiveRun:
    """What is known about a run at one moment."""

    manifest: Mapping[str, Any]
    trials: Sequence[TrialRecord]
    warmups: Sequence[TrialRecord]
    planned: int
    """How many trials the run has: those of the plan, warm-up included, and those added to it so
    far."""
    done: int
    """How many of the planned trials are recorded."""
    current: CurrentTrial | None
    """The trial that is under way; None between two trials, and when no process executes the
    run."""
    is_alive: bool
    """Whether a process executes the run."""
    seen_at: datetime
    """The moment (UTC)."""

    @property
    def status(self) -> str:
        """`running`, `complete`, `interrupted`, `failed`, or `killed`. `killed`: run.json says that
        the run is running, and no process executes it."""
        status = str(self.manifest["status"])
        if status == "running" and not self.is_alive:
            return "killed"
        # run.json says `complete` after the last trial, before the run is analysed and published.
        return "running" if self.is_alive else status

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the last session."""
        return (self.seen_at - self.began).total_seconds()

    @property
    def began(self) -> datetime:
        """When the last session began."""
        return datetime.fromisoformat(self.manifest["sessions"][-1]["started_at"])


def look_at(store: RunStore) -> LiveRun:
    """Read what a run's folder shows now; nothing is written. Raises InputError when the folder is
    damaged."""
    check_there(store)
    # The lock is looked at before the files. If the run ends in between, its files already say how
    # it ended; the other way round it would look killed.
    is_alive = is_held(store.folder)
    manifest, trials, warmups = store.manifest(), store.trials(), store.warmups()
    recorded = {record.trial_id for record in [*trials, *warmups]}
    planned = {
        trial_id
        for number in store.plan()["rounds"]
        for visit in number["visits"]
        for trial_id in visit["trials"]
    }
    return LiveRun(
        manifest=manifest,
        trials=trials,
        warmups=warmups,
        planned=len(planned | recorded),
        done=len(recorded),
        current=_current(store.folder / RunFile.RAW, manifest, recorded) if is_alive else None,
        is_alive=is_alive,
        seen_at=datetime.now(UTC),
    )


def check_there(store: RunStore) -> None:
    """Raise InputError when the run folder is gone."""
    if not (store.folder / RunFile.MANIFEST).is_file():
        raise InputError("the run folder was removed or renamed", where=str(store.folder))


def version_of(store: RunStore) -> tuple[object, ...]:
    """A value that changes when something changes that `look_at` reads. Compare it with an earlier
    one."""
    found: list[object] = [is_held(store.folder)]
    for name in _CHANGING:
        try:
            state = (store.folder / name).stat()
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((state.st_ino, state.st_mtime_ns, state.st_size))
    return tuple(found)


def _current(
    raw: Path, manifest: Mapping[str, Any], recorded: Collection[str]
) -> CurrentTrial | None:
    """Find the trial that is under way: the newest one that has a folder in `raw` and no record.
    None if there is none."""
    levels = {entry["id"]: entry["levels"] for entry in manifest["scenarios"]}
    try:
        begun = [path for path in raw.iterdir() if path.name not in recorded]
        newest = sorted((path.stat().st_mtime_ns, path) for path in begun)
    except FileNotFoundError:
        # No trial has begun yet, or one has just ended and its folder is gone.
        return None
    for _, path in reversed(newest):
        if not (found := _TRIAL.fullmatch(path.name)):
            continue
        scenario_id, _, label = found["rest"].partition("-")
        # A trial's folder is there before that of its first attempt.
        attempts = sum(1 for _ in path.glob("attempt-*"))
        warmup, number = found["kind"] == "w", int(found["round"])
        levels_of = levels.get(scenario_id, {})
        return CurrentTrial(path.name, warmup, number, levels_of, label, max(1, attempts))
    return None
