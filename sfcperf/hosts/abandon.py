"""Waits that end early, because what they are for was given up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

from sfcperf.errors import DeploymentError

_LOOK_S = 0.2
_abandoned: ContextVar[tuple[Event, ...]] = ContextVar("abandoned", default=())


@contextmanager
def abandonable(event: Event) -> Iterator[None]:
    """Inside, `pause` ends with an error soon after the event is set, or one around it."""
    token = _abandoned.set((*_abandoned.get(), event))
    try:
        yield
    finally:
        _abandoned.reset(token)


def pause(seconds: float) -> None:
    """Wait. Raises DeploymentError when what it is done for was given up meanwhile."""
    events = _abandoned.get()
    if not events:
        time.sleep(seconds)
        return
    deadline = time.monotonic() + seconds
    while not any(event.is_set() for event in events):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return
        events[-1].wait(min(left_s, _LOOK_S))
    raise DeploymentError("given up, because another part failed or the run was interrupted")
