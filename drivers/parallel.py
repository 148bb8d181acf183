"""Several actions of a driver at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from sfcperf import waiting
from sfcperf.errors import DeploymentError


def each(*actions: Callable[[], Any], at_once: int | None = None) -> list[Any]:
    """Run all actions, `at_once` at a time (None: all), and return their results in order.

    If one fails, or the caller is interrupted, the waits of the others end, and what is under way
    is awaited, so that nothing is created during the tear-down that follows. Raises the first
    error.
    """
    with _started(actions, at_once or len(actions)) as jobs:
        for job in waiting.as_completed(jobs):
            job.result()
        return [job.result() for job in jobs]


def outcomes(*actions: Callable[[], Any]) -> list[Future[Any]]:
    """Run all actions at the same time, and return a finished Future for each, with its result or
    its error. Unlike in `each`, a failure does not end the others."""
    with _started(actions, len(actions)) as jobs:
        list(waiting.as_completed(jobs))
        return jobs


@contextmanager
def _started(actions: Sequence[Callable[[], Any]], at_once: int) -> Iterator[list[Future[Any]]]:
    """Submit all actions to threads, and give their Futures. An error inside ends the waits of all
    actions, and those that have not begun are not run."""
    given_up = waiting.Cancellation(
        lambda: DeploymentError("stopped because another part failed or the run was interrupted")
    )
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        try:
            # The threads inherit the cancellation, because each runs in a copy of this context.
            with waiting.cancelled_by(given_up):
                jobs = [pool.submit(copy_context().run, action) for action in actions]
            yield jobs
        except BaseException:
            given_up.set()
            pool.shutdown(cancel_futures=True)
            raise
