"""FileJournal: resources, on disk before they are created.

One JSON object per line, `{"op": "intend" | "removed", "kind", "name", "detail"}`. A run that is
killed leaves the file; `resume` and `clean` read in it what to remove.

A run on several infrastructures has one journal for all of them, which exists or is removed as a
whole; `owner` is the number of the infrastructure that a resource belongs to, absent for the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from sfcperf import strict_json
from sfcperf.drivers.base import Resource
from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.results.files import sync_folder

MAX_BYTES = 1 << 28


class FileJournal:
    """The Journal of `sfcperf.drivers.base`, in a file of its own, for all infrastructures of a
    run. Each driver gets its share by `of`."""

    def __init__(self, path: Path) -> None:
        """Open an existing journal or start one. Raises InputError when it is damaged."""
        self.path = path
        self._lock = Lock()
        self._outstanding: dict[_Key, Resource] = {}
        if os.path.lexists(path):
            self._load()

    def of(self, owner: int) -> JournalShare:
        """Return the journal as the driver of one infrastructure sees it."""
        return JournalShare(self, owner)

    def intend(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Append a line for each resource and fsync the file before the resources count as
        outstanding. Raises OSError, and takes lines back that could not be written whole."""
        resources = list(resources)
        with self._lock:
            self._append("intend", resources, owner)
            for resource in resources:
                # A resource that is created again is the newest.
                self._outstanding.pop(_key(resource, owner), None)
                self._outstanding[_key(resource, owner)] = resource

    def removed(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Append a line for each resource without fsync: it is harmless to remove a resource twice.
        Ignores OSError, so that a full disk does not prevent the tear-down."""
        resources = list(resources)
        with self._lock:
            with suppress(OSError):
                self._append("removed", resources, owner)
            for resource in resources:
                self._outstanding.pop(_key(resource, owner), None)

    def outstanding(self, owner: int | None = None) -> list[Resource]:
        """Return the resources that are intended and not yet removed, newest first: those of one
        owner, or, for None, of all."""
        with self._lock:
            newest_first = reversed(self._outstanding.items())
            return [resource for key, resource in newest_first if owner in (None, key[0])]

    def owners(self) -> list[int]:
        """Return the owners of outstanding resources, the last infrastructure first."""
        with self._lock:
            return sorted({owner for owner, _, _ in self._outstanding}, reverse=True)

    def _append(self, op: _Op, resources: list[Resource], owner: int) -> None:
        """Write a line for each resource, and take lines back that could not be written whole. Only
        `intend` is synced to disk: a resource must not exist without its line."""
        if not resources:
            return
        content = "".join(_line(op, resource, owner) for resource in resources).encode()
        # None: the file is new, and so must be synced to disk with its folder.
        size = self.path.stat().st_size if self.path.exists() else None
        try:
            with self.path.open("ab") as file:
                file.write(content)
                file.flush()
                if op == "intend":
                    os.fsync(file.fileno())
        except OSError:
            # An incomplete line in the middle would make the journal unreadable. There is no file
            # if it could not be created.
            with suppress(FileNotFoundError):
                os.truncate(self.path, size or 0)
            raise
        if size is None:
            sync_folder(self.path.parent)

    def _load(self) -> None:
        """Read the file into `_outstanding`, and cut off a last line that was not finished. Raises
        InputError for a line that is damaged."""
        content = read_input(self.path, "the journal of a run", max_bytes=MAX_BYTES)
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            # The writer was killed while it wrote this line, before it created the resource.
            os.truncate(self.path, len(content) - len(torn))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = strict_json.loads(line)
                resource = _resource(entry)
                intended = {"intend": True, "removed": False}[entry["op"]]
                owner = int(entry.get("owner", 0))
            except (ValueError, KeyError, TypeError, OverflowError) as error:
                raise InputError(
                    f"line {number} of the journal is damaged",
                    where=str(self.path),
                    hint="remove the resources that the other lines name by hand, then this folder",
                ) from error
            self._outstanding.pop(_key(resource, owner), None)
            if intended:
                self._outstanding[_key(resource, owner)] = resource


@dataclass(frozen=True)
class JournalShare:
    """The part of a journal that belongs to one infrastructure: the Journal of its driver."""

    whole: FileJournal
    owner: int

    def intend(self, resources: Iterable[Resource]) -> None:
        """Record in the whole journal that this owner is about to create the resources. Raises
        OSError."""
        self.whole.intend(resources, self.owner)

    def removed(self, resources: Iterable[Resource]) -> None:
        """Record in the whole journal that this owner's resources are gone."""
        self.whole.removed(resources, self.owner)

    def outstanding(self) -> list[Resource]:
        """Return this owner's resources that are not yet removed, newest first."""
        return self.whole.outstanding(self.owner)


_Op = Literal["intend", "removed"]
_Key = tuple[int, str, str]
"""Owner, kind and name: two drivers may give their resources the same names."""


def _key(resource: Resource, owner: int) -> _Key:
    return owner, resource.kind, resource.name


def _resource(entry: Mapping[str, Any]) -> Resource:
    """Return the resource that a line of the journal names. Raises KeyError for a missing field,
    TypeError for one of a wrong type."""
    kind, name, detail = entry["kind"], entry["name"], entry["detail"]
    if not (isinstance(kind, str) and isinstance(name, str)):
        raise TypeError("kind and name must be text")
    if detail is not None and not isinstance(detail, dict):
        raise TypeError("detail must be an object")
    return Resource(kind, name, detail)


def _line(op: _Op, resource: Resource, owner: int) -> str:
    detail = None if resource.detail is None else dict(resource.detail)
    entry: dict[str, Any] = {"op": op, "kind": resource.kind, "name": resource.name}
    entry["detail"] = detail
    if owner:
        entry["owner"] = owner
    return json.dumps(entry) + "\n"
