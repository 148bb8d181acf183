"""FileJournal: what was about to be made, on disk before it is made.

One JSON object per line, `{"op": "intend" | "removed", "kind", "name", "detail"}`. A run that is
killed leaves the file; whoever comes next (`resume`, `clean`) learns from it what to remove.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from sfcperf.drivers.base import Resource
from sfcperf.errors import InputError
from sfcperf.results.files import sync_folder


class FileJournal:
    """The Journal of `sfcperf.drivers.base`, in a file of its own."""

    def __init__(self, path: Path) -> None:
        """Open an existing journal or start one. Raises InputError when it is damaged."""
        self.path = path
        self._lock = Lock()
        self._outstanding: dict[tuple[str, str], Resource] = {}
        if path.is_file():
            self._load()

    def intend(self, resources: Iterable[Resource]) -> None:
        """About to make these; durable when it returns (one fsync for all of them)."""
        with self._lock:
            resources = list(resources)
            self._append([_line("intend", resource) for resource in resources], durable=True)
            for resource in resources:
                # Made anew after it was removed or lost: its place is now the newest.
                self._outstanding.pop(_key(resource), None)
                self._outstanding[_key(resource)] = resource

    def removed(self, resources: Iterable[Resource]) -> None:
        """These are gone. Removing a thing twice is harmless, so this is not fsynced, and a full
        disk does not keep a run from being torn down."""
        with self._lock:
            resources = list(resources)
            with suppress(OSError):
                self._append([_line("removed", resource) for resource in resources], durable=False)
            for resource in resources:
                self._outstanding.pop(_key(resource), None)

    def outstanding(self) -> list[Resource]:
        """Intended and not yet removed, newest first."""
        with self._lock:
            return list(reversed(self._outstanding.values()))

    def _append(self, lines: list[str], *, durable: bool) -> None:
        if not lines:
            return
        size = self.path.stat().st_size if self.path.exists() else None
        try:
            with self.path.open("ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                if durable:
                    os.fsync(file.fileno())
        except OSError:
            # Half a line in the middle would make the journal unreadable.
            os.truncate(self.path, size or 0)
            raise
        if size is None:
            sync_folder(self.path.parent)

    def _load(self) -> None:
        content = self.path.read_bytes()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            # The writer was killed within this line, hence before it made what the line names.
            os.truncate(self.path, len(content) - len(torn))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                resource = Resource(entry["kind"], entry["name"], entry["detail"])
                intended = {"intend": True, "removed": False}[entry["op"]]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"line {number} of the journal is damaged",
                    where=str(self.path),
                    hint="remove what the other lines name by hand, then this folder",
                ) from error
            self._outstanding.pop(_key(resource), None)
            if intended:
                self._outstanding[_key(resource)] = resource


def _key(resource: Resource) -> tuple[str, str]:
    return resource.kind, resource.name


def _line(op: str, resource: Resource) -> str:
    detail = None if resource.detail is None else dict(resource.detail)
    entry = {"op": op, "kind": resource.kind, "name": resource.name, "detail": detail}
    return json.dumps(entry) + "\n"
