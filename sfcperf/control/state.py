"""StateDir: runs that execute on this machine, and those that were killed here.

    $SFCPERF_STATE_DIR (default: see sfcperf.environment.state_root)
      lock                held while a process creates, claims or removes the folder of a run
      runs/<run_id>/
        lock              held by the living run; the kernel releases it when the process ends
        run.json          drivers, their configuration and tags, results folder, pid
        journal.jsonl     resources (sfcperf.drivers.journal)
        state/            the drivers' own files

A run whose lock can be taken is dead. A folder without a journal owns nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import string
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfcperf import ownership, strict_json
from sfcperf.control.lock import NAME, RunInProgress, take
from sfcperf.drivers.journal import FileJournal
from sfcperf.environment.state_root import VARIABLE, state_root
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.results.documents import is_safe_name
from sfcperf.results.files import replace_file

__all__ = ["FurtherDriver", "RunInProgress", "RunInfo", "RunState", "StateDir"]

TAG_ALPHABET = string.digits + string.ascii_lowercase
TAG_LENGTH = 6
MAX_INFO_BYTES = 1 << 24


@dataclass(frozen=True)
class FurtherDriver:
    """One of the drivers of a run after the first: another variant uses it."""

    tag: str
    driver: str
    config: Mapping[str, Any]


@dataclass(frozen=True)
class RunInfo:
    """What `clean` must know to remove what a run left: run.json of its state folder. The fields
    describe its last session."""

    run_id: str
    tag: str
    """Tag of the first driver."""
    driver: str
    """Name of the first driver."""
    config: Mapping[str, Any]
    """Configuration of the first driver."""
    results: str
    """The run folder with the results."""
    pid: int
    """Id of the process that executes the run."""
    further: tuple[FurtherDriver, ...] = ()
    """Drivers after the first. The journal numbers drivers in this order from 1; `driver` is 0."""

    def driver_of(self, owner: int) -> str:
        """Name of the driver with this number in the journal. Raises InputError if there is
        none."""
        drivers = [self.driver, *(further.driver for further in self.further)]
        if not 0 <= owner < len(drivers):
            raise InputError(
                "the state of this run is damaged: its journal names driver "
                f"{owner} of {len(drivers)}",
                where=self.run_id,
                hint="remove by hand what its journal.jsonl names, then the folder",
            )
        return drivers[owner]


def _check_types(*entries: RunInfo | FurtherDriver) -> None:
    """Raise TypeError unless tag and driver are text: run.json may have other values there."""
    for entry in entries:
        if not all(isinstance(each, str) for each in (entry.tag, entry.driver)):
            raise TypeError("tag and driver must be text")


class RunState:
    """The folder with the state of one run, below `runs`. StateDir makes it for a new, a resumed or
    a dead run. This process holds its lock until `release` or `remove`. `lock`: descriptor of the
    lock; -1: the folder is only read, and not locked."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    @property
    def state_dir(self) -> Path:
        """Folder in which drivers keep their own files."""
        return self.folder / "state"

    def write_info(self, info: RunInfo) -> None:
        """Write run.json. Call it before the first journal line: without it the run could not be
        undone."""
        document = asdict(info)
        if not info.further:
            del document["further"]
        replace_file(self.folder / "run.json", json.dumps(document, indent=2) + "\n")

    def info(self) -> RunInfo:
        """What `write_info` wrote. Raises InputError when it is damaged."""
        path = self.folder / "run.json"
        content = read_input(path, "the state of this run", max_bytes=MAX_INFO_BYTES)
        try:
            document = strict_json.loads(content)
            further = tuple(FurtherDriver(**entry) for entry in document.pop("further", ()))
            info = RunInfo(**document, further=further)
            _check_types(info, *further)
            return info
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"the state of this run is damaged: {error}",
                where=str(path),
                hint="remove by hand what its journal.jsonl names, then the folder",
            ) from error

    def journal(self) -> FileJournal:
        """Open the journal. Raises InputError when it is damaged."""
        return FileJournal(self.folder / "journal.jsonl")

    @property
    def owns_nothing(self) -> bool:
        """Whether no resource was ever journaled, so that there is nothing to undo."""
        return not os.path.lexists(self.folder / "journal.jsonl")

    def remove(self) -> None:
        """Remove the folder; only right when the journal has nothing outstanding."""
        # The journal first: if this is interrupted, the remaining folder owns nothing.
        (self.folder / "journal.jsonl").unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Release the lock and leave the folder for `resume` or `clean`."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class StateDir:
    """Finds, creates and claims the state folders of the runs of this machine, in one root
    folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or state_root()

    def create(self, name: str) -> tuple[RunState, str, str]:
        """Create the state of a new run of the workflow `name`; return it, locked, with the run id
        and the tag."""
        with self._guard():
            tag = self._free_tag()
            run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}-{tag}"
            return self._make(run_id), run_id, tag

    def recreate(self, run_id: str) -> tuple[RunState, str]:
        """Create the state of a run that is resumed; return it with a new tag. The old tag is not
        used again: resources with it may still exist that this machine's state does not know."""
        with self._guard():
            return self._make(run_id), self._free_tag({run_id.rpartition("-")[2]})

    def tags(self, tag: str, count: int) -> list[str]:
        """Return `count` different tags, for the drivers of one session. `tag`, which the session
        has already, is the first."""
        tags = [tag]
        with self._guard():
            while len(tags) < count:
                tags.append(self._free_tag(tags))
        return tags

    def claim(self, run_id: str) -> RunState | None:
        """Lock the state of a dead run; None when there is no such run. Raises RunInProgress when
        the run is alive, and EnvironmentLacks when another user could have written what is
        there."""
        folder = self._folder(run_id)
        with self._guard():
            if not os.path.lexists(folder):
                return None
            ownership.check_folder(folder)
            for name in (NAME, "run.json", "journal.jsonl"):
                ownership.check_file(folder / name)
            return RunState(folder, take(folder, run_id))

    def run_ids(self) -> list[str]:
        """Ids of the runs that have state here, dead or alive, oldest first."""
        with self._accessible(), suppress(FileNotFoundError):
            self._check_ours()
            folders = [path for path in self._runs.iterdir() if path.is_dir()]
            return sorted(path.name for path in folders if is_safe_name(path.name))
        return []

    def drivers_of(self, run_id: str) -> set[str]:
        """Names of the drivers of a run, dead or alive. The set is empty if the run has no run.json
        yet; it owns nothing then. Raises InputError when its state is damaged."""
        state = RunState(self._folder(run_id), -1)
        if not (state.folder / "run.json").exists():
            return set()
        info = state.info()
        return {info.driver, *(further.driver for further in info.further)}

    @property
    def _runs(self) -> Path:
        """Folder with the state folder of each run."""
        return self.root / "runs"

    def _folder(self, run_id: str) -> Path:
        """Path of a run's state folder. The id may come from a run.json that somebody else wrote,
        and the folder is removed with its content, so the id must name a folder directly below
        `runs`. Raises InputError."""
        if not is_safe_name(run_id):
            raise InputError(
                f"{run_id!r} is not the id of a run",
                allowed="letters, digits and ._- (the first a letter or digit), 255 at most",
            )
        return self._runs / run_id

    def _make(self, run_id: str) -> RunState:
        """Make and lock the state folder of a run. If it exists already, another process has just
        made it."""
        folder = self._folder(run_id)
        try:
            folder.mkdir(mode=0o700)
            state = RunState(folder, take(folder, run_id))
            state.state_dir.mkdir()
        except FileExistsError as error:
            raise RunInProgress(f"another process has just resumed the run {run_id}") from error
        return state

    def _tags(self) -> set[str]:
        """Tags of all sessions that may have left resources: they must not be used again."""
        return {tag for run_id in self.run_ids() for tag in self._tags_of(run_id)}

    def _tags_of(self, run_id: str) -> Iterator[str]:
        """Yield the first tag of a run, which is in its id, and the tags of its last session."""
        yield run_id.rpartition("-")[2]
        with suppress(InputError):
            info = RunState(self._runs / run_id, -1).info()
            yield info.tag
            yield from (further.tag for further in info.further)

    def _free_tag(self, besides: Iterable[str] = ()) -> str:
        """Choose a random tag that no run here uses, and that is not among `besides`."""
        taken = self._tags().union(besides)
        while True:
            tag = "".join(secrets.choice(TAG_ALPHABET) for _ in range(TAG_LENGTH))
            if tag not in taken:
                return tag

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Hold the lock of the root folder: only one process at a time creates, claims or removes
        folders of runs. Inside, errors of the system become EnvironmentLacks."""
        with self._accessible():
            # A driver's configuration may hold credentials.
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._runs.mkdir(mode=0o700, exist_ok=True)
            self._check_ours()
            descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)

    def _check_ours(self) -> None:
        """Raise EnvironmentLacks when another user could write here, and so name things to be
        removed."""
        # The root is resolved first: the folder that $SFCPERF_STATE_DIR names may be a link.
        for folder in (self.root.resolve(), self._runs):
            ownership.check_folder(folder)

    def _accessible(self) -> AbstractContextManager[None]:
        """Turn errors of the system into EnvironmentLacks while the block lasts."""
        return system_errors_as(
            EnvironmentLacks,
            "the folder for the state of runs cannot be used",
            where=self.root,
            hint=f"run as root, or set {VARIABLE} to another folder",
            prefer_filename=True,
        )
