"""From an exception to what the user sees: a message on stderr and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from sfcperf.control.interrupts import Interrupted
from sfcperf.errors import ExitCode, SfcperfError, WorkflowError

_ENVIRONMENT = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
}
"""What the system refuses although the program is right."""


def signals_interrupt() -> None:
    """SIGTERM and SIGHUP end the program in order, as Ctrl-C does, so that temporary files go.

    A run has its own way with signals (sfcperf.control.interrupts).
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def exit_code_of(error: BaseException) -> int:
    """Say what went wrong, on stderr, and give the exit code."""
    if isinstance(error, SfcperfError):
        _say(_lines(error))
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | Interrupted):
        _say(["interrupted"])
        return ExitCode.INTERRUPTED
    if isinstance(error, OSError) and error.errno in _ENVIRONMENT:
        _say([f"{error.filename or 'the system'}: {error.strerror}"])
        return ExitCode.ENVIRONMENT
    _say(
        [
            f"internal error: {type(error).__name__}: {error}",
            f"hint: the traceback is in {_keep(error)}; please report it",
        ]
    )
    return ExitCode.INTERNAL


def _lines(error: SfcperfError) -> list[str]:
    lines = error.lines()
    if isinstance(error, WorkflowError):
        for other in error.others:
            lines += other.lines()
    return lines


def _keep(error: BaseException) -> str:
    """The traceback in a file of its own."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="sfcperf-error-", suffix=".log", delete=False
    ) as log:
        log.write("".join(traceback.format_exception(error)))
    return log.name


def _say(lines: list[str]) -> None:
    # The terminal may be gone (SIGHUP): the exit code still tells.
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr)


def flush_stdout() -> None:
    """Write what is left to stdout; a reader that has gone is no error of ours."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()


def drop_stdout() -> None:
    """What is still written to stdout goes nowhere, also what the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
