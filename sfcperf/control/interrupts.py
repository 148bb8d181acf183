"""Interrupts: SIGINT, SIGTERM and SIGHUP end a run in order.

A signal raises `Interrupted` only where waiting is long and cutting it short is safe (`allowed`:
deploying, proving, measuring, publishing). Everywhere else - keeping records, tearing down - it is
noted and takes effect at the next `allowed` or `check`. It is raised once: a second Ctrl-C cannot
cut the tear-down short.

A thread that is in another network namespace for a moment (sfcperf.hosts) must come home first, or
the tear-down would happen there: the exception could fall between two steps of coming home. So
must one that has forked and does not know the pid yet (sfcperf.hosts.undivided), and one in a
finalizer, where Python would drop the exception.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from sfcperf.hosts.undivided import is_undivided

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_S = 0.005
"""How soon to look again whether it can be raised."""


class Interrupted(BaseException):
    """The user or the system asked to stop.

    Not an Exception, so that no `except Exception` on its way takes it for a failure.
    """


class Interrupts:
    """Context manager: the signals are ours inside."""

    def __init__(self) -> None:
        self.requested: str | None = None
        """Name of the first signal, None as long as none came."""
        self.allowed = _Allowed(self)
        self._raised = False
        self._home = _network()
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        # Handlers belong to the main thread; elsewhere the owner of the thread decides.
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # Ignored from the start (nohup, a shell's background job): it stays ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
            self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._look_again)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise Interrupted if a signal came in the meantime."""
        if self.requested is not None:
            self._raised = True
            raise Interrupted(self.requested)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None:
            _say("sfcperf: already stopping; what was built is being removed\n")
            return
        self.requested = signal.Signals(number).name
        self._look_again(number, frame)

    def _look_again(self, number: int, frame: FrameType | None) -> None:
        """Raise if it is allowed here; nothing of this thread runs between look and raise."""
        if self.allowed.depth > 0 and not self._raised:
            if is_undivided() or _in_finalizer(frame) or _network() != self._home:
                signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
                return
            self.check()


class _Allowed:
    """`with interrupts.allowed:` a signal takes effect at once."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self.depth = 0

    def __enter__(self) -> None:
        self.depth += 1
        try:
            self._interrupts.check()
        except Interrupted:
            self.depth -= 1
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.depth -= 1


def _in_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _network() -> str | None:
    """The network namespace of this thread; None where the system has none to show."""
    try:
        return str(Path("/proc/thread-self/ns/net").readlink())
    except OSError:
        return None


def _say(text: str) -> None:
    """Plain write: this runs inside a signal handler, in the middle of anything."""
    try:
        os.write(2, text.encode())
    except OSError:
        return
