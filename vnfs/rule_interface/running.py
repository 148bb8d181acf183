"""A running rule interface: its server process, started again when it dies."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.counts import count_text
from sfcperf.environment import tools
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import DeploymentError, MeasurementError, system_errors_as
from sfcperf.hosts.process import has_ended, open_output
from sfcperf.management.deployment import RuleInterface
from sfcperf.plugins import Requirement
from sfcperf.vnfs.rule_interface.keeper import RuleKeeper
from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.table import RuleTable

ADDRESS = "127.0.0.1"
"""Where the server listens: it runs where sfcperf does, whatever the driver is, and who sets rules
runs there too."""
START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 10.0
MOST_RESTARTS = 20
"""Restarts of the server after which the function has a problem."""
_BACKLOG = 1024
_LIBRARIES = ("fastapi", "pydantic", "uvicorn")


def requirement() -> Requirement:
    """Whether the Python packages of the extra `security` are there; imports none of them."""
    return tools.python_packages(_LIBRARIES, "security")


class RunningRules:
    """The rule interface of one function.

    Its owner calls `start` and, at the end, `stop`. In between a thread starts the server, answers
    what it asks for, and starts it again when it ends.

    The listening socket is this process's own: clients that connect while a server is started again
    wait for it. Rules are in the data plane and in this process, so the server has none to lose.
    """

    def __init__(self, name: str, policy: Policy, table: RuleTable, outputs: Path) -> None:
        """`name` of the function; the server writes what is wrong to a file in `outputs`."""
        self._name = name
        self._policy = policy
        self._keeper = RuleKeeper(policy, table)
        self._log = outputs / f"{name}-rules.log"
        self._token = secrets.token_urlsafe(32)
        self._socket: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name=f"sfcperf-{name}-rules", daemon=True)
        self._lock = threading.Lock()
        """Held while a server is started, and while it is decided that none is any more."""
        self._settled = waiting.Event()
        """Set when the interface answers, or never will."""
        self._stopped = False
        self._problem: str | None = None
        self.restarts = 0
        """How often the server has ended before `stop`."""

    def start(self) -> None:
        """Start the server, and return when it answers. Raises DeploymentError, after `stop`."""
        with system_errors_as(DeploymentError, "cannot listen", where=ADDRESS):
            self._socket = socket.create_server((ADDRESS, 0), backlog=_BACKLOG)
        try:
            self._thread.start()
            settled = self._settled.wait(START_TIMEOUT_S)
            if not settled or self._problem:
                why = self._problem or f"it does not answer after {START_TIMEOUT_S:g} s"
                raise DeploymentError(
                    f"{self._name}: the rule interface: {why}", hint=f"see {self._log}"
                )
        except BaseException:
            self.stop()
            raise

    def interface(self) -> RuleInterface:
        """Return where the interface is, and its token; only when it was started."""
        assert self._socket is not None
        address, port = self._socket.getsockname()
        return RuleInterface(f"http://{address}:{port}", self._token)

    def problem(self) -> str | None:
        """Say why the rule interface has failed and is not started again; None while it works or is
        being started again."""
        return None if self._problem is None else f"the rule interface: {self._problem}"

    @property
    def pid(self) -> int | None:
        """Process id of the server, on the machine that runs sfcperf; None before its start."""
        return None if self._server is None else self._server.pid

    def stop(self) -> None:
        """End the server. Harmless when it has ended; the data plane keeps its rules."""
        with self._lock:
            self._stopped = True
            server = self._server
        if server is not None:
            server.terminate()
            with waiting.shielded():
                if not has_ended(server, END_TIMEOUT_S):
                    server.kill()
        if self._thread.ident is not None:
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # --- in the thread ---

    def _run(self) -> None:
        """Do the work of the thread, and note why it cannot go on."""
        try:
            self._serve()
        except MeasurementError as error:
            self._problem = error.message
        except Exception as error:
            self._problem = repr(error)
            raise
        finally:
            self._settled.set()

    def _serve(self) -> None:
        """Start the server, and start it again whenever it ends, until the interface is stopped or
        cannot work. Raises MeasurementError."""
        while (server := self._spawn()) is not None:
            # Closing the server's input writes again what the server has not read, which fails if
            # it has ended.
            with suppress(BrokenPipeError), server:
                try:
                    self._attend(server)
                finally:
                    server.kill()  # without us it is of no use
            if self._stopped:
                return
            self._keeper.fail()  # at once: the lease would still last for a while
            self.restarts += 1
            if self.restarts > MOST_RESTARTS:
                self._problem = f"it has ended {count_text(self.restarts, 'time')}; see {self._log}"
                return

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        """Start the server; None when the interface was stopped. Raises MeasurementError."""
        with self._lock:
            if self._stopped or self._socket is None:
                return None
            log = open_output(self._log, "the rule interface")
            try:
                self._server = subprocess.Popen(
                    [sys.executable, "-m", "sfcperf.vnfs.rule_interface.server"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    pass_fds=[self._socket.fileno()],
                    env=without_secrets(),
                    start_new_session=True,  # Ctrl-C reaches sfcperf alone
                )
            finally:
                os.close(log)
            return self._server

    def _attend(self, server: subprocess.Popen[bytes]) -> None:
        """Tell the server its settings (`ServerSettings`), then answer what it asks for, until it
        ends."""
        assert server.stdin is not None and server.stdout is not None and self._socket is not None
        limits = {
            "max_ttl_s": self._policy.max_ttl_s,
            "max_rules": self._policy.max_rules,
            "on_failure": "fail-closed" if self._policy.fail_closed else "fail-open",
        }
        start = {
            "parent": os.getpid(),
            "socket": self._socket.fileno(),
            "token": self._token,
            "limits": limits,
        }
        _write(server, start)
        for line in server.stdout:
            message: str | Sequence[Any] = json.loads(line)
            if isinstance(message, str):
                # The server says that it is ready. The data plane gets a lease before anybody
                # counts on the server.
                self._keeper.answer([["tick"]])
                self._settled.set()
            else:
                _write(server, self._keeper.answer(message))


def _write(server: subprocess.Popen[bytes], message: Any) -> None:
    """Write a message to the server as a line of JSON."""
    assert server.stdin is not None
    server.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    server.stdin.flush()
