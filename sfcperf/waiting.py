"""Waits that can be cancelled: by a signal, or because another part of the work has failed.

Every wait that may be long ends in `poll`, which watches what is awaited together with the
cancellations in force in its context. So a cancellation takes effect at a wait and nowhere else:
the steps between two waits are always done as a whole. A thread inherits the cancellations of the
thread that started it only if it runs in a copy of that thread's context.
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
"""A pause that is shorter than this is not interrupted: nobody needs to, and poll(2) counts in
milliseconds."""


class Event:
    """An event like threading.Event, with a descriptor that can be polled. The descriptor is closed
    with the last reference."""

    def __init__(self) -> None:
        self._file = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_set = False

    def __del__(self) -> None:
        os.close(self._file)

    def fileno(self) -> int:
        """Descriptor that is readable while the event is set."""
        return self._file

    def is_set(self) -> bool:
        """Whether the event is set."""
        return self._is_set

    def set(self) -> None:
        """Set the event; possible in any thread or signal handler."""
        self._is_set = True
        os.eventfd_write(self._file, 1)

    def clear(self) -> None:
        """Unset an event that is set."""
        self._is_set = False
        os.eventfd_read(self._file)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the event is set; False when the time is over."""
        return bool(poll({self._file: select.POLLIN}, timeout_s))


class Cancellation(Event):
    """A reason to stop waiting: once it is set, waits that are cancelled by it raise `error()`."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        super().__init__()
        self.error = error


_in_force: ContextVar[tuple[Cancellation, ...]] = ContextVar("in_force", default=())
_wakeup: int | None = None
"""Descriptor that becomes readable when the main thread has received a signal; None outside of
`woken_by_signals`."""


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """Let a cancellation end waits of this context while the block lasts: they raise its error.
    Both ends of the block raise it, too.

    The error is raised only once, so that a clean-up on the way out of the block can wait
    undisturbed.
    """
    outer = _in_force.get()
    _in_force.set((*outer, cancellation))
    try:
        check()
        yield
        check()
    finally:
        # A cancellation of an outer block may have been raised inside this one. It must not be put
        # back in force, or it would be raised twice.
        _in_force.set(tuple(each for each in outer if each in _in_force.get()))


@contextmanager
def shielded() -> Iterator[None]:
    """Let nothing be cancelled while the block lasts. It is for short steps of a clean-up."""
    before = _in_force.set(())
    try:
        yield
    finally:
        _in_force.reset(before)


def cancelled() -> bool:
    """Whether a cancellation is in force and set, so that the next wait raises."""
    return any(cancellation.is_set() for cancellation in _in_force.get())


def check() -> None:
    """Raise the error of a cancellation that is in force and set, and take that out of force."""
    for cancellation in (in_force := _in_force.get()):
        if cancellation.is_set():
            _in_force.set(tuple(each for each in in_force if each is not cancellation))
            raise cancellation.error()


def poll(events: Mapping[int, int], timeout_s: float | None = None) -> set[int]:
    """Wait as poll(2) does; return the descriptors whose events (or errors) have come. The set is
    empty when the time is over."""
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
        # A signal ends this wait only through `check`: its handler may have set a cancellation.
        if wakeup is not None and wakeup in found:
            os.read(wakeup, select.PIPE_BUF)
        if not found or found & events.keys():
            return found & events.keys()


def sleep(seconds: float) -> None:
    """Sleep as time.sleep does; a cancellation ends it."""
    if seconds < _SHORT_S:
        check()
        time.sleep(seconds)
    else:
        poll({}, seconds)


def as_completed(futures: Collection[Future[T]]) -> Iterator[Future[T]]:
    """Yield each future when it is done, as concurrent.futures.as_completed does; a cancellation
    ends the wait."""
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
    """Wait for a future's result; a cancellation ends the wait, but not the future."""
    return next(as_completed([future])).result()


@contextmanager
def woken_by_signals() -> Iterator[None]:
    """Let a signal that has a handler wake the main thread from `poll` while the block lasts.

    The kernel's EINTR alone is not enough: a signal that comes just before the system call would be
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
