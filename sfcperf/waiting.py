"""Waits that can be cancelled: by a signal, or because another part of the work has failed.

Every wait that may be long ends in `poll`, which watches what is awaited together with the
cancellations that are in force in its context. So a cancellation takes effect at a wait and nowhere
else: what stands between two waits is always done as a whole. A thread is under the cancellations
of the one that started it only when it runs in a copy of that one's context.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_SHORT_S = 0.01
"""A pause that nobody needs to cut short; poll(2) counts in milliseconds."""


class Event:
    """As threading.Event, with a descriptor to poll; it is closed with the last reference."""

    def __init__(self) -> None:
        self._file = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_set = False

    def __del__(self) -> None:
        os.close(self._file)

    def fileno(self) -> int:
        """Descriptor that is readable while the event is set."""
        return self._file

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it, in any thread or signal handler."""
        self._is_set = True
        os.eventfd_write(self._file, 1)

    def clear(self) -> None:
        """Unset an event that is set."""
        self._is_set = False
        os.eventfd_read(self._file)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is set; False when the time is over."""
        return bool(poll({self._file: select.POLLIN}, timeout_s))


class Cancellation(Event):
    """A reason to stop waiting: once it is set, waits that are cancelled by it raise `error()`."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        super().__init__()
        self.error = error


_in_force: ContextVar[tuple[Cancellation, ...]] = ContextVar("in_force", default=())
_wakeup: int | None = None
"""Becomes readable when the main thread has received a signal."""


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """Inside, waits of this context raise the cancellation's error; so do both ends of the block.

    It is raised once: what cleans up on the way out of the block waits undisturbed.
    """
    outer = _in_force.get()
    _in_force.set((*outer, cancellation))
    try:
        check()
        yield
        check()
    finally:
        # One around this block that was raised inside it stays raised.
        _in_force.set(tuple(each for each in outer if each in _in_force.get()))


@contextmanager
def shielded() -> Iterator[None]:
    """Inside, nothing is cancelled: for short steps of a clean-up."""
    before = _in_force.set(())
    try:
        yield
    finally:
        _in_force.reset(before)


def cancelled() -> bool:
    """Whether the next wait raises."""
    return any(cancellation.is_set() for cancellation in _in_force.get())


def check() -> None:
    """Raise the error of a cancellation that is in force and set."""
    for cancellation in (in_force := _in_force.get()):
        if cancellation.is_set():
            _in_force.set(tuple(each for each in in_force if each is not cancellation))
            raise cancellation.error()


def poll(events: Mapping[int, int], timeout_s: float | None = None) -> set[int]:
    """poll(2): descriptors whose events have come (or errors); none when the time is over."""
    watched = select.poll()
    for file, mask in events.items():
        watched.register(file, mask)
    for cancellation in _in_force.get():
        watched.register(cancellation, select.POLLIN)
    wakeup = _wakeup if current_thread() is main_thread() else None
    if wakeup is not None:
        watched.register(wakeup, select.POLLIN)
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_ms = None if end is None else max(0.0, end - time.monotonic()) * 1000
        found = {file for file, _ in watched.poll(left_ms)}
        check()
        if wakeup is not None and wakeup in found:
            os.read(wakeup, select.PIPE_BUF)
        if not found or found & events.keys():
            return found & events.keys()


def sleep(seconds: float) -> None:
    """time.sleep, cancellable."""
    if seconds < _SHORT_S:
        check()
        time.sleep(seconds)
    else:
        poll({}, seconds)


def as_completed(futures: Collection[Future[T]]) -> Iterator[Future[T]]:
    """concurrent.futures.as_completed, cancellable."""
    completed: SimpleQueue[Future[T]] = SimpleQueue()
    news = Event()

    def note(future: Future[T]) -> None:
        completed.put(future)
        news.set()

    for future in futures:
        future.add_done_callback(note)
    for _ in futures:
        while completed.empty():
            news.wait()
            news.clear()
        yield completed.get()


def result(future: Future[T]) -> T:
    """Future.result, cancellable; the future itself is left alone."""
    return next(as_completed([future])).result()


@contextmanager
def woken_by_signals() -> Iterator[None]:
    """Inside, a signal that has a handler wakes the main thread from `poll`.

    The kernel's EINTR alone is not enough: a signal that comes just before the system call is
    handled only after it. Python's C handler writes to the descriptor at once.
    """
    global _wakeup
    receiver, sender = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    outer, _wakeup = _wakeup, receiver
    before = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _wakeup = outer
        os.close(sender)
        os.close(receiver)
