"""Spool: the runs that wait for their server.

    $SFCPERF_STATE_DIR (root: /var/lib/sfcperf, others: $XDG_STATE_HOME/sfcperf)
      spool/<digest>.json     a run folder and a target, without secrets

An entry is written before the first document is sent and removed when all of them are there: when
the process is killed in between, it stays, and `sfcperf index --pending` sends the rest. The run
folder is the data; nothing is copied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfcperf.elasticsearch.target import Target
from sfcperf.environment.state_root import VARIABLE, state_root
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.results.files import replace_file, sync_folder
from sfcperf.results.records import utc_now
from sfcperf.results.store import RunStore

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Waiting:
    """A run that is to be sent."""

    file: Path
    """The entry."""
    run_id: str
    folder: Path
    """The run folder."""
    target: Target
    since: str
    """When it was first tried, ISO 8601, UTC."""
    problem: str = ""
    """Why it was not sent, in words; empty while it is being sent, or when it was killed."""


class Spool:
    """The entries of one state folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.folder = (root or state_root()) / "spool"

    def enter(self, store: RunStore, target: Target) -> tuple[Waiting, bool]:
        """Note that a run is to be sent; on disk when this returns. Gives the entry, and whether
        it is new.

        Raises EnvironmentLacks when the state folder cannot be written.
        """
        folder = store.folder.resolve()
        key = json.dumps([store.run_id, str(folder), target.urls, target.prefix])
        file = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
        waiting = Waiting(file, store.run_id, folder, target, utc_now())
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_new = not file.is_file()
            if not is_new:
                waiting = replace(waiting, since=_read(file).since)
            replace_file(file, _text(waiting))
        except OSError as error:
            raise EnvironmentLacks(
                f"the folder for runs that wait to be sent cannot be written: {error.strerror}",
                where=str(error.filename or self.folder),
                hint=f"name another folder in {VARIABLE}",
            ) from error
        return waiting, is_new

    def explain(self, waiting: Waiting, problem: str) -> None:
        """Note why it waits."""
        replace_file(waiting.file, _text(replace(waiting, problem=problem)))

    def done(self, waiting: Waiting) -> None:
        """It is sent."""
        waiting.file.unlink(missing_ok=True)
        sync_folder(self.folder)

    def waiting(self) -> list[Waiting]:
        """All entries, oldest first. Raises InputError for one that cannot be read."""
        try:
            files = sorted(self.folder.glob("[0-9a-f]*.json"))
        except OSError as error:
            raise EnvironmentLacks(
                f"the folder for runs that wait to be sent cannot be read: {error.strerror}",
                where=str(self.folder),
            ) from error
        return sorted(map(_read, files), key=lambda entry: entry.since)


def _text(waiting: Waiting) -> str:
    document = {
        "schema_version": SCHEMA_VERSION,
        "run_id": waiting.run_id,
        "folder": str(waiting.folder),
        "target": waiting.target.document(),
        "since": waiting.since,
        "problem": waiting.problem,
    }
    return json.dumps(document, indent=2) + "\n"


def _read(file: Path) -> Waiting:
    try:
        document: Mapping[str, Any] = json.loads(file.read_text())
        return Waiting(
            file=file,
            run_id=document["run_id"],
            folder=Path(document["folder"]),
            target=Target.of(document["target"]),
            since=document["since"],
            problem=document["problem"],
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"this entry in the queue of runs to send is damaged: {error}",
            where=str(file),
            hint="remove it, and send the run with `sfcperf index RUN --url URL`",
        ) from error
