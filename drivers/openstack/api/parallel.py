"""Several calls to the cloud at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from sfcperf import waiting
from sfcperf.errors import DeploymentError


def each(*actions: Callable[[], Any]) -> list[Any]:
    """Run all of them; gives their results in order.

    If one fails, or the caller is interrupted, the waits of the others end, and requests under way
    are awaited, so that nothing is created during the tear-down that follows. Raises the first
    error.
    """
    with _started(actions) as jobs:
        for job in waiting.as_completed(jobs):
            job.result()
        return [job.result() for job in jobs]


def outcomes(*actions: Callable[[], Any]) -> list[Future[Any]]:
    """The same, but a failure does not end the others: each with its result or its error."""
    with _started(actions) as jobs:
        list(waiting.as_completed(jobs))
        return jobs


@contextmanager
def _started(actions: Sequence[Callable[[], Any]]) -> Iterator[list[Future[Any]]]:
    """All of them in threads: `Cloud` limits the number of requests."""
    given_up = waiting.Cancellation(
        lambda: DeploymentError("given up, because another part failed or the run was interrupted")
    )
    with ThreadPoolExecutor(max(1, len(actions))) as pool:
        try:
            with waiting.cancelled_by(given_up):
                jobs = [pool.submit(copy_context().run, action) for action in actions]
            yield jobs
        except BaseException:
            given_up.set()
            pool.shutdown(cancel_futures=True)
            raise
