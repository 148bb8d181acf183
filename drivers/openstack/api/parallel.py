"""Several calls to the cloud at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event
from typing import Any

from sfcperf.hosts.abandon import abandonable


def each(*actions: Callable[[], Any]) -> list[Any]:
    """Run all of them; gives their results in order.

    If one fails, or the caller is interrupted, those that wait give up, and requests under way are
    awaited, so that nothing is created during the tear-down that follows. Raises the first error.
    """
    with _started(actions) as jobs:
        done, _ = wait(jobs, return_when=FIRST_EXCEPTION)
        failed = [job for job in jobs if job in done and job.exception() is not None]
        return [job.result() for job in (failed or jobs)]


def outcomes(*actions: Callable[[], Any]) -> list[Future[Any]]:
    """The same, but a failure does not end the others: each with its result or its error."""
    with _started(actions) as jobs:
        wait(jobs)
        return jobs


@contextmanager
def _started(actions: Sequence[Callable[[], Any]]) -> Iterator[list[Future[Any]]]:
    """All of them in threads: `Cloud` limits the number of requests."""
    given_up = Event()
    with ThreadPoolExecutor(max(1, len(actions))) as pool:
        with abandonable(given_up):
            jobs = [pool.submit(copy_context().run, action) for action in actions]
        try:
            yield jobs
        except BaseException:
            given_up.set()
            pool.shutdown(cancel_futures=True)
            raise
