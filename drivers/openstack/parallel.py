"""Several calls of the cloud at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import Any, TypeVar

from sfcperf.drivers.openstack.patience import abandonable

T = TypeVar("T")

AT_ONCE = 8
"""Calls under way: more only queue up in the cloud."""


def each(*actions: Callable[[], Any]) -> list[Any]:
    """Do all of them; what they give, in their order.

    When one fails, or the caller is interrupted, those that have not begun never do, those that
    wait for a next try give up, and requests that are under way are waited for: nothing is made
    behind the back of the tear-down that follows. Raises the first error.
    """
    if not actions:
        return []
    given_up = Event()
    with ThreadPoolExecutor(min(AT_ONCE, len(actions))) as pool:
        with abandonable(given_up):
            jobs = [pool.submit(copy_context().run, action) for action in actions]
        try:
            done, _ = wait(jobs, return_when=FIRST_EXCEPTION)
            failed = [job for job in jobs if job in done and job.exception() is not None]
            return [job.result() for job in (failed or jobs)]
        except BaseException:
            given_up.set()
            pool.shutdown(cancel_futures=True)
            raise
