"""The controller's state: in memory, and in a file that is written before a change is answered."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfcperf import strict_json
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.rest.answers import pointer
from sfcperf.results.files import remove_unfinished, replace_file
from sfcperf.results.ownership import check_place
from sfcperf.vnfs.sfcmon.controller.model import Resource, State
from sfcperf.vnfs.sfcmon.controller.references import Problem, problems

VERSION = 1
_MOST_BYTES = 1 << 28


class ChangeRefused(Exception):
    """A change that would leave a state with problems."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("; ".join(f"{each.where}: {each.message}" for each in found))
        self.problems = found


class Store:
    """Keeps the state. Changes are made one after the other; each is in the file as a whole, or not
    at all."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one. Raises InputError, EnvironmentLacks."""
        self._path = path
        self._turn = asyncio.Lock()
        check_place(path.parent)
        with system_errors_as(InputError, "the state cannot be kept", where=path.parent):
            self._lock = _locked(path)
        try:
            with system_errors_as(InputError, "the state cannot be kept", where=path.parent):
                remove_unfinished(path.parent)
            self.state = _read(path) if path.exists() else State()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the state's file: another controller may have it then."""
        _lock_file(self._path).unlink(missing_ok=True)
        os.close(self._lock)

    async def put(self, collection: str, name: str | int, resource: Resource) -> bool:
        """Create a resource, or replace it. Return whether it was created.

        Raises ChangeRefused, EnvironmentLacks.
        """
        async with self._turn:
            known = getattr(self.state, collection)
            await self._change(collection, {**known, name: resource})
            return name not in known

    async def delete(self, collection: str, name: str | int) -> None:
        """Remove a resource. Raises KeyError, ChangeRefused, EnvironmentLacks."""
        async with self._turn:
            remaining = dict(getattr(self.state, collection))
            del remaining[name]
            await self._change(collection, remaining)

    async def replace(self, state: State) -> None:
        """Replace all resources at once. Raises ChangeRefused, EnvironmentLacks."""
        async with self._turn:
            await self._take(state)

    async def _change(self, collection: str, resources: dict[Any, Any]) -> None:
        """Replace a collection of the state. Raises ChangeRefused, EnvironmentLacks."""
        await self._take(self.state.model_copy(update={collection: resources}))

    async def _take(self, state: State) -> None:
        """Check a state, write it into the file, and only then make it the state. Raises
        ChangeRefused, EnvironmentLacks."""
        found = await asyncio.to_thread(problems, state)
        if found:
            raise ChangeRefused(found)
        await asyncio.to_thread(self._write, state)
        self.state = state

    def _write(self, state: State) -> None:
        document = {"version": VERSION, **state.model_dump(mode="json", exclude_defaults=True)}
        with system_errors_as(EnvironmentLacks, "the state cannot be written", where=self._path):
            replace_file(self._path, json.dumps(document, indent=1) + "\n", mode=0o600)


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _locked(path: Path) -> int:
    """Lock the state, and return the descriptor whose lock ends with the process. Raises InputError
    if another controller has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        lock = os.open(_lock_file(path), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise InputError(
                "another controller uses this state", where=str(path), hint="end it first"
            ) from None
        # The controller that had the lock may have removed the file before this one locked it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), _lock_file(path).stat()):
                return lock
        os.close(lock)


def _read(path: Path) -> State:
    """Read the state from its file. Raises InputError for a file or a state that cannot be
    taken."""
    content = read_input(path, "the state", max_bytes=_MOST_BYTES)
    try:
        document = strict_json.loads(content)
    except ValueError as error:
        raise InputError(f"this is no JSON: {error}", where=str(path)) from error
    if not isinstance(document, dict) or document.pop("version", None) != VERSION:
        raise InputError(
            "this is no state of an SFC controller",
            where=str(path),
            allowed=f'a JSON object with "version": {VERSION}',
        )
    try:
        state = State.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{path.name}{pointer(first['loc'])}: {first['msg']}", where=str(path)
        ) from error
    for found in problems(state):
        raise InputError(found.message, where=f"{path}{found.where}", allowed=found.allowed)
    return state
