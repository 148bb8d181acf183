"""Steps of a few milliseconds that a signal must not cut in two: it takes effect after them.

A process that was forked and whose pid nobody has yet cannot be ended any more: interrupted there,
`ip netns add` would make its namespace after the tear-down had looked for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def undivided() -> Iterator[None]:
    """Inside, this thread raises no exception for a signal (sfcperf.control.interrupts)."""
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1


def is_undivided() -> bool:
    """Whether this thread is in such a step."""
    return getattr(_here, "depth", 0) > 0
