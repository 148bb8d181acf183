"""The event loop of all SSH connections of this process, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from sfcperf import waiting

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop; the first call starts it. Its thread ends with the process."""
    global _loop
    with _lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="sfcperf-ssh", daemon=True).start()
            _loop = loop
        return _loop


def call(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the loop and return its result. Call this from any other thread.

    If the caller's wait is cancelled, so is the coroutine; it has to clean up itself.
    """
    future = asyncio.run_coroutine_threadsafe(work, event_loop())
    try:
        return waiting.result(future)
    except BaseException:
        future.cancel()
        raise
