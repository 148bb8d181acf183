"""Watch: threads and tasks that a service cannot do without.

Nobody notices the end of a thread: the service answers, and does nothing any more. So each thread
works under a Watch. The end of one ends the service, which says why; whoever supervises the service
starts it again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any


class WorkerEnded(Exception):
    """A thread or a task has ended that a service cannot do without. Its cause is what was
    raised."""


def terminate() -> None:
    """Send this process SIGTERM, at which services end in good order."""
    os.kill(os.getpid(), signal.SIGTERM)


class Watch:
    """All threads and tasks of one service."""

    def __init__(self, end: Callable[[], None] = terminate) -> None:
        """`end` ends the service; it is called once, in any thread."""
        self._end = end
        self._lock = threading.Lock()
        self._is_over = False
        self.problem: WorkerEnded | None = None
        """What ended first; None while all work."""

    def thread(self, name: str, work: Callable[[], object]) -> threading.Thread:
        """Start a thread, which is to work until `over`. It does not keep the process alive."""

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
        """Start a task, which is to work until `over`, or until somebody cancels it; with
        `may_return`, only an exception is a problem."""

        def note(done: asyncio.Task[None]) -> None:
            error = None if done.cancelled() else done.exception()
            if error is not None or not (done.cancelled() or may_return):
                self.ended(name, error)

        task = asyncio.create_task(work, name=name)
        task.add_done_callback(note)
        return task

    def ended(self, name: str, error: BaseException | None = None) -> None:
        """One has ended: end the service, unless it ends already."""
        with self._lock:
            if self._is_over or self.problem is not None:
                return
            why = "" if error is None else f": {type(error).__name__}: {error}"
            self.problem = WorkerEnded(f"{name} has ended{why}")
            self.problem.__cause__ = error
        self._end()

    def over(self) -> None:
        """The service ends: so may all that works for it."""
        with self._lock:
            self._is_over = True

    def check(self) -> None:
        """Raises WorkerEnded if there is a problem."""
        if self.problem is not None:
            raise self.problem
