"""Interrupts: SIGINT, SIGTERM and SIGHUP end a run in order (docs/decisions/0014).

A handler only notes the signal and wakes whoever waits (sfcperf.waiting). `Interrupted` is raised
by waits where cutting them short is safe (`allowed`: deploying, proving, measuring); elsewhere -
keeping records, tearing down - the signal takes effect at the next `allowed` or `check`. It is
raised once: a second Ctrl-C cannot cut the tear-down short.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import FrameType

from sfcperf import waiting

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """The user or the system asked to stop.

    Not an Exception, so that no `except Exception` on its way takes it for a failure.
    """


class Interrupts(ExitStack):
    """Context manager that takes over SIGINT, SIGTERM and SIGHUP while it lasts. Every session and
    every replay has one; in it, `allowed` marks where a signal may cut waits short."""

    def __init__(self) -> None:
        super().__init__()
        self.requested: str | None = None
        """Name of the first signal, None as long as none came."""
        self._cancellation = waiting.Cancellation(self._error)
        self._raises = False
        """Whether a signal raises at once, wherever it comes; see `allowed_anywhere`."""

    def __enter__(self) -> Interrupts:
        # Only the main thread can set handlers. In another thread, whoever started it has to handle
        # signals.
        if threading.current_thread() is threading.main_thread():
            self.enter_context(waiting.woken_by_signals())
            for number in SIGNALS:
                # A signal that is ignored from the start (nohup, a shell's background job) stays
                # ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    # The inner call sets our handler, and returns the one to restore at the end.
                    self.callback(signal.signal, number, signal.signal(number, self._handle))
        return self

    @property
    def allowed(self) -> AbstractContextManager[None]:
        """Context in which a signal may end a wait. A signal that comes when nothing waits takes
        effect at the end of the block."""
        return waiting.cancelled_by(self._cancellation)

    @contextmanager
    def allowed_anywhere(self) -> Iterator[None]:
        """Context in which a signal raises Interrupted wherever it comes, as Ctrl-C does in any
        Python program.

        It is for long computations that own nothing and can be repeated: they wait for a CPU, not
        in a call that `allowed` could cut short.
        """
        self.check()
        self._raises = True
        try:
            yield
        finally:
            self._raises = False
        self.check()

    def check(self) -> None:
        """Raise Interrupted if a signal has come."""
        if self.requested is not None:
            raise self._error()

    def _error(self) -> Interrupted:
        """The error to raise; its text is the name of the signal."""
        return Interrupted(self.requested)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal: the first one is noted and wakes waits, and further ones only get a
        message."""
        if self.requested is not None:
            with suppress(OSError):
                os.write(2, b"sfcperf: already stopping; what was built is being removed\n")
            return
        self.requested = signal.Signals(number).name
        self._cancellation.set()
        if self._raises:
            raise self._error()
