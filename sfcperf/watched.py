"""Watch: supervises the threads and tasks that a service cannot do without.

Nobody notices by itself that a thread has ended: the service still answers, but does nothing any
more. So each thread works under a Watch. If one ends, the Watch ends the service, which says why;
whoever supervises the service starts it again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any


class WorkerEnded(Exception):
    """A thread or a task has ended that the service cannot do without. `__cause__` is what it
    raised."""


def terminate() -> None:
    """Send this process SIGTERM, at which services end in good order."""
    os.kill(os.getpid(), signal.SIGTERM)


class Watch:
    """Watches all threads and tasks of one service, and ends the service when one of them ends."""

    def __init__(self, end: Callable[[], None] = terminate) -> None:
        """`end` ends the service; it is called once, in any thread."""
        self._end = end
        self._lock = threading.Lock()
        self._is_over = False
        self.problem: WorkerEnded | None = None
        """What ended first; None while all of them work."""

    def thread(self, name: str, work: Callable[[], object]) -> threading.Thread:
        """Start a thread, which must work until `over`. It does not keep the process alive."""

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self.ended(name, error)
            else:
                self.ended(name)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def task(
        self, name: str, work: Coroutine[Any, Any, None], *, may_return: bool = False
    ) -> asyncio.Task[None]:
        """Start a task, which must work until `over`, or until somebody cancels it. With
        `may_return` it may also return, and only an exception is a problem."""

        def note(done: asyncio.Task[None]) -> None:
            error = None if done.cancelled() else done.exception()
            if error is not None or not (done.cancelled() or may_return):
                self.ended(name, error)

        task = asyncio.create_task(work, name=name)
        task.add_done_callback(note)
        return task

    def ended(self, name: str, error: BaseException | None = None) -> None:
        """Note that a thread or task has ended, and end the service, unless it is ending
        already."""
        with self._lock:
            if self._is_over or self.problem is not None:
                return
            why = "" if error is None else f": {type(error).__name__}: {error}"
            self.problem = WorkerEnded(f"{name} has ended{why}")
            self.problem.__cause__ = error
        self._end()

    def over(self) -> None:
        """Note that the service is ending: from now on, threads and tasks may end."""
        with self._lock:
            self._is_over = True

    def check(self) -> None:
        """Raise WorkerEnded if there is a problem."""
        if self.problem is not None:
            raise self.problem
