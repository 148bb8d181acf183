"""The supervisor of the cloud's services, asked over its socket (inside of the namespaces)."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import xmlrpc.client
from contextlib import suppress
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
        self._rpc = xmlrpc.client.ServerProxy("http://localhost", transport=_Transport()).supervisor

    def states(self) -> dict[str, State]:
        """All services."""
        return {each["name"]: _state(each) for each in self._call("getAllProcessInfo")}

    def state(self, name: str) -> State:
        """One service; raises `EnvironmentLacks` for one that this cloud was started without."""
        states = self.states()
        if name not in states:
            raise EnvironmentLacks(
                f"the cloud that runs has no service {name}: it was started by another version",
                hint="make openstack-down openstack-up",
            )
        return states[name]

    def start(self, name: str) -> None:
        """Start a service that does not run; returns at once."""
        if self.state(name).word not in ("RUNNING", "STARTING"):
            with _unless("ALREADY_STARTED"):
                self._call("startProcess", name, False)

    def stop(self, name: str) -> None:
        """Stop a service, and wait until it is gone."""
        with _unless("NOT_RUNNING"):
            self._call("stopProcess", name, True)

    def kill(self, name: str) -> None:
        """SIGKILL for the service and its workers, which are of one process group."""
        pid = self.state(name).pid
        if pid:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _call(self, method: str, *arguments: Any) -> Any:
        return getattr(self._rpc, method)(*arguments)


class _unless(suppress):  # noqa: N801 - reads as a sentence where it is used
    """Suppresses the supervisor's fault of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(xmlrpc.client.Fault)
        self._name = name

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        fault = isinstance(error, xmlrpc.client.Fault)
        return fault and self._name in str(error.faultString)


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
