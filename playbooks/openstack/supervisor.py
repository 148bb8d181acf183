"""The supervisor of the cloud's services, asked over its socket (inside of the namespaces)."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from sfcperf.errors import EnvironmentLacks
from sfcperf.playbooks.openstack.layout import RUN

SOCKET = RUN / "supervisor.sock"


@dataclass(frozen=True)
class State:
    """What the supervisor knows of a service."""

    name: str
    word: str
    """Its word for it: RUNNING, STARTING, BACKOFF, EXITED, FATAL, STOPPED, ..."""
    pid: int
    """0 when it does not run."""
    said: str
    """Why it does not run, or since when it does."""


class Supervisor:
    """Starts, stops and kills services by name."""

    def __init__(self) -> None:
        # The address is of no use: the transport goes to the socket.
        proxy = xmlrpc.client.ServerProxy("http://localhost", transport=_Transport())
        self._rpc: Any = proxy.supervisor

    def states(self) -> dict[str, State]:
        """All services."""
        return {each["name"]: _state(each) for each in self._rpc.getAllProcessInfo()}

    def state(self, name: str) -> State:
        """One service; raises `EnvironmentLacks` for one that this cloud was started without."""
        states = self.states()
        if name not in states:
            raise EnvironmentLacks(
                f"the running cloud has no service {name}: it was started by another version",
                hint="make openstack-down openstack-up",
            )
        return states[name]

    def start(self, *names: str) -> None:
        """Start those services that do not run, in this order; returns at once."""
        for name in names:
            if self.state(name).word not in ("RUNNING", "STARTING"):
                with _unless("ALREADY_STARTED"):
                    self._rpc.startProcess(name, False)

    def stop(self, name: str) -> None:
        """Stop a service, and wait until it is gone."""
        with _unless("NOT_RUNNING"):
            self._rpc.stopProcess(name, True)

    def kill(self, name: str) -> None:
        """SIGKILL for the service and its workers, which are of one process group."""
        pid = self.state(name).pid
        if pid:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


@contextmanager
def _unless(fault: str) -> Iterator[None]:
    """Suppresses the supervisor's fault of that name."""
    try:
        yield
    except xmlrpc.client.Fault as error:
        if fault not in str(error.faultString):
            raise


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60.0)
        self.sock.connect(str(SOCKET))


class _Transport(xmlrpc.client.Transport):
    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        return _Connection("localhost")


def _state(info: Any) -> State:
    said = cast(str, info["spawnerr"] or info["description"])
    return State(info["name"], info["statename"], int(info["pid"]), said)
