"""SupervisedProcess: a process that is started again when it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sfcperf.counts import count_text
from sfcperf.errors import DeploymentError, EnvironmentLacks, SfcperfError
from sfcperf.hosts.base import Process
from sfcperf.services.base import ServiceContext

MOST_RESTARTS = 20
"""After so many restarts, the process stays ended."""
_LOOK_S = 0.05
_READY_LOOK_S = 0.02
END_S = 10.0


class SupervisedProcess:
    """Runs one process, with a thread that watches it and starts it again when it dies. `start` and
    `stop` may be called in turn, several times."""

    def __init__(
        self, context: ServiceContext, name: str, command: Sequence[str], ready: Callable[[], bool]
    ) -> None:
        """`name` names the process in messages, and its output. `ready` tells whether the process
        that was started last can be used."""
        self._context = context
        self._name = name
        self._command = command
        self._ready = ready
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._problem: str | None = None
        self._process: Process | None = None
        self._thread: threading.Thread | None = None
        self._tries = 0
        """Restarts since `start` was called last."""
        self.restarts = 0
        """Restarts in all."""

    @property
    def log(self) -> Path:
        """File with what the process prints."""
        return self._context.outputs / f"{self._name}.log"

    @property
    def pid(self) -> int | None:
        """Id of the process, also after it has died; None before the first start."""
        return None if self._process is None else self._process.pid

    def start(self, timeout_s: float) -> None:
        """Start the process and return when it is ready. It may be called again after `stop`.
        Raises EnvironmentLacks when the process does not get ready; it is stopped then."""
        self._stopping.clear()
        self._problem, self._tries = None, 0
        self._spawn()
        assert self._process is not None
        if not self._process.becomes(self._ready, timeout_s=timeout_s, period_s=_READY_LOOK_S):
            ended = self._process.poll() is not None
            self.stop()
            how = "has ended" if ended else f"is not ready after {timeout_s:g} s"
            raise EnvironmentLacks(f"{self._name} {how}", hint=f"see {self.log}")
        self._thread = threading.Thread(
            target=self._watch, name=f"sfcperf-{self._name}", daemon=True
        )
        self._thread.start()

    def problem(self) -> str | None:
        """Say why the process has failed and is not started again; None while it runs, or is being
        started again."""
        return self._problem

    def stop(self) -> None:
        """End the process. Harmless when it has ended."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            with suppress(DeploymentError):
                process.stop(END_S)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _spawn(self) -> None:
        """Start the process, unless it is to be stopped."""
        # The lock keeps `stop` from missing a process that is being started in the thread.
        with self._lock:
            if not self._stopping.is_set():
                self._process = self._context.spawn(self._command, self.log)

    # --- in the thread ---

    def _watch(self) -> None:
        """Start the process again whenever it has ended, until `stop` or MOST_RESTARTS."""
        try:
            while not self._stopping.wait(_LOOK_S):
                if self._process is None or self._process.poll() is None:
                    continue
                self._again()
                if self._problem is not None:
                    return
        except Exception as error:
            # Catch whatever it is: nobody else would notice that this thread has ended.
            why = error if isinstance(error, SfcperfError) else repr(error)
            self._problem = f"{self._name} cannot be started again: {why}"

    def _again(self) -> None:
        """Start the process again after it has ended; note a problem instead if that was too
        often."""
        assert self._process is not None
        status = self._process.poll()
        # The process has ended; `stop` also ends processes that it may have started.
        self._process.stop()
        if self._tries == MOST_RESTARTS:
            self._problem = (
                f"{self._name} has ended {count_text(self._tries + 1, 'time')}; see {self.log}"
            )
            return
        self._tries += 1
        self.restarts += 1
        self._context.log(f"{self._name} has ended with status {status}, and is started again")
        self._spawn()
