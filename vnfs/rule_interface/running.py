"""Runs the server process of a rule interface, and starts it again when it dies."""

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
"""Where the server listens. It runs where sfcperf does, whatever the driver is, and so do the
programs that set rules."""
START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 10.0
MOST_RESTARTS = 20
"""After more restarts than this, the function has a problem."""
_BACKLOG = 1024
_LIBRARIES = ("fastapi", "pydantic", "uvicorn")


def requirement() -> Requirement:
    """Say whether the Python packages of the extra `security` are there. Imports none of them."""
    return tools.python_packages(_LIBRARIES, "security")


class RunningRules:
    """The rule interface of one function.

    The listening socket is this process's own: clients that connect while a server is started again
    wait for it. Rules are in the data plane and in this process, so the server has none to lose.
    """

    def __init__(self, name: str, policy: Policy, table: RuleTable, outputs: Path) -> None:
        """`name`: of the function. `outputs`: folder of the file into which the server writes
        what is wrong."""
        self._name = name
        self._policy = policy
        self._keeper = RuleKeeper(policy, table)
        self._log = outputs / f"{name}-rules.log"
        self._token = secrets.token_urlsafe(32)
        self._socket: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name=f"sfcperf-{name}-rules", daemon=True)
        self._lock = threading.Lock()
        """Held while a server is started, and while it is decided that none will be started any
        more."""
        self._settled = waiting.Event()
        """Set when the server answers, or it is known that it never will."""
        self._stopped = False
        self._problem: str | None = None
        self.restarts = 0

    def start(self) -> None:
        """Start the server and return when it answers. If it does not, `stop` is called, then
        DeploymentError is raised."""
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
        """Return where the interface is. Call it only after `start`."""
        assert self._socket is not None
        address, port = self._socket.getsockname()
        return RuleInterface(f"http://{address}:{port}", self._token)

    def problem(self) -> str | None:
        """Return why the interface has failed; None while it works or its server is being
        started again."""
        return None if self._problem is None else f"the rule interface: {self._problem}"

    @property
    def pid(self) -> int | None:
        """Id of the server process, on the machine that runs sfcperf; None before there is one."""
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
        """Serve until the interface is stopped, or cannot work any more. Raises
        MeasurementError."""
        while (server := self._spawn()) is not None:
            # The server may die before it has read everything. Closing its input then writes the
            # rest once more, which fails.
            with suppress(BrokenPipeError), server:
                try:
                    self._attend(server)
                finally:
                    server.kill()  # without us it is of no use
            if self._stopped:
                return
            self._keeper.fail()
            self.restarts += 1
            if self.restarts > MOST_RESTARTS:
                self._problem = f"it has ended {count_text(self.restarts, 'time')}; see {self._log}"
                return

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        """Start a server. Returns None when the interface was stopped. Raises MeasurementError."""
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
        """Answer the calls of the server until it ends."""
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
                # The data plane gets its first lease before anybody counts on the server.
                self._keeper.answer([["tick"]])
                self._settled.set()
            else:
                _write(server, self._keeper.answer(message))


def _write(server: subprocess.Popen[bytes], message: Any) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    server.stdin.flush()
