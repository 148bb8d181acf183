"""Spool: the runs that wait for their server.

    $SFCPERF_STATE_DIR (root: /var/lib/sfcperf, others: $XDG_STATE_HOME/sfcperf)
      spool/<digest>.json     a run folder and a target, without secrets
      spool/<digest>.lock     held by the process that sends a run folder

An entry is written before the first document is sent and removed when all of them are there: when
the process is killed in between, it stays, and `sfcperf index --pending` sends the rest. The run
folder is the data; nothing is copied.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sfcperf import ownership, strict_json
from sfcperf.elasticsearch.target import Target
from sfcperf.environment.state_root import VARIABLE, state_root
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.results.files import replace_file, sync_folder
from sfcperf.results.records import utc_now
from sfcperf.results.schema_check import misfit
from sfcperf.results.store import RunStore

SCHEMA_VERSION = 1
MAX_ENTRY_BYTES = 1 << 20


@dataclass(frozen=True)
class SpooledRun:
    """An entry of the spool: a run that is to be sent."""

    file: Path
    """The file of the entry."""
    run_id: str
    folder: Path
    """The run folder."""
    target: Target
    since: str
    """When it was first tried, ISO 8601, UTC."""
    problem: str = ""
    """Why the run was not sent, in words. Empty while it is being sent, or if the process that sent
    it was killed."""


class Spool:
    """Keeps the entries of one state folder."""

    def __init__(self, root: Path | None = None) -> None:
        """`root` is the state folder; None: that of this user. Nothing is created yet."""
        self.folder = (root or state_root()) / "spool"

    def enter(self, store: RunStore, target: Target) -> tuple[SpooledRun, bool]:
        """Note that a run is to be sent; the entry is on disk when this returns. Returns the entry,
        and whether it is new.

        Raises EnvironmentLacks when the state folder cannot be written.
        """
        folder = store.folder.resolve()
        key = json.dumps([store.run_id, str(folder), target.urls, target.prefix])
        file = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
        waiting = SpooledRun(file, store.run_id, folder, target, utc_now())
        with system_errors_as(
            EnvironmentLacks,
            "the folder for runs that wait to be sent cannot be written",
            where=self.folder,
            hint=f"name another folder in {VARIABLE}",
            prefer_filename=True,
        ):
            self._make()
            is_new = not file.is_file()
            with suppress(InputError):  # a damaged entry is replaced
                waiting = waiting if is_new else replace(waiting, since=_read(file).since)
            replace_file(file, _text(waiting))
        return waiting, is_new

    @contextmanager
    def alone(self, folder: Path) -> Iterator[None]:
        """Lock a run, so that only one process of this user sends it at a time: two could both find
        that an id is missing, and both send it. The lock is in the spool and not in the run folder,
        where everybody who can read the folder could hold it.

        Raises EnvironmentLacks when another process sends the run.
        """
        name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
        with system_errors_as(EnvironmentLacks, "runs cannot be sent", where=self.folder):
            self._make()
            lock = _locked(self.folder / f"{name}.lock")
        if lock is None:
            raise EnvironmentLacks(
                "another process is sending this run", where=str(folder), hint="wait for its end"
            )
        try:
            yield
        finally:
            # Removed before it is unlocked: see `_locked`.
            (self.folder / f"{name}.lock").unlink(missing_ok=True)
            os.close(lock)

    def _make(self) -> None:
        """Make the folder of the spool if it is not there, and check that it is ours alone."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._check_ours()

    def explain(self, waiting: SpooledRun, problem: str) -> None:
        """Note in the entry why the run waits."""
        replace_file(waiting.file, _text(replace(waiting, problem=problem)))

    def done(self, waiting: SpooledRun) -> None:
        """Remove the entry of a run that has been sent."""
        waiting.file.unlink(missing_ok=True)
        sync_folder(self.folder)

    def waiting(self) -> list[SpooledRun]:
        """Return all entries that can be read, oldest first.

        Raises EnvironmentLacks when the folder cannot be read, or others can write there.
        """
        found = (entry for entry in self._entries() if isinstance(entry, SpooledRun))
        return sorted(found, key=lambda entry: entry.since)

    def damaged(self) -> list[InputError]:
        """Return an error for each entry that cannot be read."""
        return [entry for entry in self._entries() if isinstance(entry, InputError)]

    def _entries(self) -> Iterator[SpooledRun | InputError]:
        """Yield each entry, or the error that says why it cannot be read. Nothing if there is no
        spool yet."""
        unread = "the folder for runs that wait to be sent cannot be read"
        with system_errors_as(EnvironmentLacks, unread, where=self.folder):
            if not self.folder.exists():
                return
            self._check_ours()
            files = sorted(self.folder.glob("[0-9a-f]*.json"))
        for file in files:
            try:
                yield _read(file)
            except InputError as error:
                yield error

    def _check_ours(self) -> None:
        """Raise EnvironmentLacks if somebody else can write here: an entry says which files go to
        which server."""
        ownership.check_folder(self.folder.parent.resolve())
        ownership.check_folder(self.folder)


def _locked(file: Path) -> int | None:
    """Lock a file and return the descriptor that holds the lock; None if another process holds it.
    Raises OSError."""
    while True:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The process that held the lock before may have removed the file: then we locked a file
            # that others do not see, and lock the new one.
            if file.exists() and os.path.samestat(os.fstat(lock), file.stat()):
                return lock
        except BlockingIOError:
            os.close(lock)
            return None
        os.close(lock)


def _text(waiting: SpooledRun) -> str:
    """Return an entry as JSON, which `_read` reads."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "run_id": waiting.run_id,
        "folder": str(waiting.folder),
        "target": waiting.target.document(),
        "since": waiting.since,
        "problem": waiting.problem,
    }
    return json.dumps(document, indent=2) + "\n"


def _read(file: Path) -> SpooledRun:
    """Read an entry. Raises InputError if it cannot be read, or is damaged."""
    what, hint = "an entry of the spool", "remove it, and send the run with `sfcperf index RUN`"
    content = read_input(file, what, max_bytes=MAX_ENTRY_BYTES, hint=hint)
    try:
        document = strict_json.loads(content)
    except ValueError as error:
        raise InputError(f"{what} is damaged: {error}", where=str(file), hint=hint) from error
    if (found := misfit("spool", document)) is not None:
        pointer, message = found
        raise InputError(f"{what} is damaged: {message}", where=f"{file}#{pointer}", hint=hint)
    return SpooledRun(
        file=file,
        run_id=document["run_id"],
        folder=Path(document["folder"]),
        target=Target.of(document["target"]),
        since=document["since"],
        problem=document["problem"],
    )
