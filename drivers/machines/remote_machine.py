"""RemoteMachine: a machine with an agent, which undoes by itself what was built when we are
gone."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from sfcperf import waiting
from sfcperf.drivers.base import Resource
from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.local import cleanup
from sfcperf.drivers.local.machine import Machine, make_folder
from sfcperf.errors import DeploymentError
from sfcperf.hosts.agent import Agent, AgentAccess, serving
from sfcperf.hosts.base import Host
from sfcperf.vnfs.base import Management

P = ParamSpec("P")
T = TypeVar("T")

_JOURNAL, _LOCK = "journal.jsonl", "lock"
_AGENT_END_S = serving.SILENCE_S + 20
"""Time within which an agent ends whose connection was lost, seconds."""
FOLDER = Path("/var/lib/sfcperf/machines")
"""Folder, on each machine, for the files of all runs."""


class RemoteMachine(Machine):
    """A machine that is reached by SSH, from its creation until `close`."""

    def __init__(self, name: str, access: AgentAccess, tag: str, log: Path) -> None:
        """`name`: of its node. `tag`: of the run. `log`: file for what ssh says. Raises
        DeploymentError."""
        self.name = name
        self._access = access
        self._folder = FOLDER / tag
        self._log = log
        self.workdirs = self._folder / "hosts"
        self._connect()

    def _connect(self) -> None:
        """Start an agent, which undoes what dead ones have left. Raises DeploymentError."""
        self._agent = Agent(self.name, self._access, self._log)
        try:
            self.call(undo_dead)
            self._journal = self.call(_MachineJournal, self._folder)
            self.call(serving.at_end, undo, self._folder)
            self.management = Management(*self.call(management))
        except BaseException:
            self._agent.close()
            raise

    def reconnect(self) -> None:
        """Start another agent if the connection to the last one was lost. Raises
        DeploymentError."""
        if self._agent.lost:
            self._agent.close()
            self._connect()

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have the agent call the function. Raises ConnectionLost, too."""
        return self._agent.call(function, *args, **kwargs)

    def host(self, name: str, namespace: str, workdir: Path, cgroups: Sequence[Path]) -> Host:
        """Return an AgentHost."""
        return self._agent.host(name, namespace, workdir, tuple(cgroups))

    def stop(self, resources: Sequence[Resource]) -> None:
        """Kill the processes of resources: SFFs, whose XDP programs another machine's card may be
        joined to. Raises DeploymentError."""
        self.call(cleanup.kill_processes, resources)

    def remove(self, resources: Sequence[Resource]) -> None:
        """Wait for calls that an interruption has left, then remove the resources. Raises
        DeploymentError."""
        self.call(serving.alone, cleanup.remove_resources, resources)

    def intend(self, resources: Sequence[Resource]) -> None:
        """Write the resources into the machine's own journal."""
        self._journal.intend(list(resources))

    def removed(self, resources: Sequence[Resource]) -> None:
        """Note in the machine's own journal that the resources are gone."""
        self._journal.removed(list(resources))

    def in_journal(self, resource: Resource) -> Resource:
        """Return the resource with what another process needs to reach the machine."""
        detail = {
            "machine": {"name": self.name, "folder": str(self._folder), **asdict(self._access)},
            "name": resource.name,
            "detail": None if resource.detail is None else dict(resource.detail),
        }
        return Resource(resource.kind, f"{self.name}: {resource.name}", detail)

    def close(self) -> None:
        """End the agent."""
        self._agent.close()


@dataclass(frozen=True)
class Leftovers:
    """What a run's journal names on one machine."""

    name: str
    """Of the machine."""
    access: AgentAccess
    folder: Path
    """Of the run, on the machine."""


def by_machine(resources: Iterable[Resource]) -> dict[Leftovers, list[Resource]]:
    """Return the resources of a run's journal by their machine."""
    found: dict[Leftovers, list[Resource]] = {}
    for resource in resources:
        detail: Mapping[str, Any] = resource.detail or {}
        machine = dict(detail["machine"])
        name, folder = str(machine.pop("name")), Path(machine.pop("folder"))
        access = AgentAccess(**{**machine, "options": tuple(machine["options"])})
        theirs = Resource(resource.kind, str(detail["name"]), detail["detail"])
        found.setdefault(Leftovers(name, access, folder), []).append(theirs)
    return found


class _MachineJournal(FileJournal):
    """The journal of a machine for one run. As long as the agent lives, its folder is locked."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. An agent of the run whose connection was lost may still be there, and is
        awaited. Raises DeploymentError if it does not end."""
        self._folder_lock = _awaited_lock(folder)
        super().__init__(folder / _JOURNAL)


def settle(folder: Path) -> None:
    """Wait until no agent of this machine works in a run's folder, and undo what the last one left.
    Raises DeploymentError."""
    if folder.exists():
        with _awaited_lock(folder):
            undo(folder)


def undo(folder: Path) -> None:
    """Remove what the journal in a run's folder on this machine still names, and the folder."""
    if (journal := folder / _JOURNAL).exists():
        cleanup.remove_resources(FileJournal(journal).outstanding())
    shutil.rmtree(folder, ignore_errors=True)


def undo_dead() -> None:
    """Undo, on this machine, what agents left that were killed, or ended with the machine. What
    cannot be removed of another run stays in its journal."""
    for folder in FOLDER.iterdir() if FOLDER.exists() else ():
        if (lock := _locked(folder)) is not None:
            with lock, suppress(DeploymentError):
                undo(folder)


def _awaited_lock(folder: Path) -> IO[bytes]:
    """Lock a run's folder, which is made if there is none, as soon as no other agent has locked it.
    Raises DeploymentError."""
    end = time.monotonic() + _AGENT_END_S
    while True:
        # The agent that had it locked has removed the folder.
        make_folder(folder)
        if (lock := _locked(folder)) is not None:
            if (folder / _LOCK).exists():
                return lock
            lock.close()
        if time.monotonic() > end:
            raise DeploymentError("another agent of this run is at work", where=str(folder))
        waiting.sleep(0.2)


def _locked(folder: Path) -> IO[bytes] | None:
    """Lock a run's folder for this process; None if another one has locked it, or there is
    none."""
    try:
        file = (folder / _LOCK).open("wb")
    except FileNotFoundError:  # the agent that had locked it has just removed it
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def management() -> tuple[str, Path]:
    """Return the address of this machine by which the SSH connection came, and the network
    namespace in which that is."""
    return ssh_connection()[1], Path(f"/proc/{os.getpid()}/ns/net")


def ssh_connection() -> tuple[str, str]:
    """Return the addresses of both ends of the SSH connection to this machine, ours last."""
    # CLIENT PORT SERVER PORT, of sshd (sshd(8), ENVIRONMENT).
    client, _, server, _ = os.environ["SSH_CONNECTION"].split()
    return client, server
