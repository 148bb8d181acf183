"""From an exception to what the user sees: a message on stderr and an exit code."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from sfcperf.cli.terminal.text import shown
from sfcperf.control.interrupts import SIGNALS, Interrupted
from sfcperf.errors import ExitCode, SfcperfError, WorkflowError

_ENVIRONMENT = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EIO,
}
"""Errors for which the machine is to blame and not the program: no space, no right, no descriptor.
"""
_LOG_CHARACTERS = 1 << 20
"""Largest size of the log of internal errors, in characters; the oldest ones are cut off."""


def exit_code_after(command: Callable[[], int]) -> int:
    """Run a command, say on stderr what went wrong, and return the exit code. Signals are ignored
    from then on.

    Ctrl-C, SIGTERM and SIGHUP end the command in order, so that temporary files are removed. Only
    the first signal counts: a second one must not cut that short. A run handles signals itself
    (sfcperf.control.interrupts).
    """
    error: BaseException | None = None
    code: int = ExitCode.OK
    try:
        _make_signals_interrupt()
        try:
            code = command()
            _ignore_signals()
        except BaseException as raised:
            error = raised
            _ignore_signals()
    except Interrupted as late:
        # A second signal came before signals were ignored: the error of the first is reported.
        error = error or late.__context__ or late
    return code if error is None else exit_code_of(error)


def _make_signals_interrupt() -> None:
    """Make the first signal raise Interrupted. A signal that was ignored from the start (nohup)
    stays ignored."""

    def stop(number: int, _frame: FrameType | None) -> None:
        _ignore_signals()
        raise Interrupted(signal.Signals(number).name)

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def _ignore_signals() -> None:
    """Ignore further signals: what is left to do is short, and must not be cut off."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def exit_code_of(error: BaseException) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    if isinstance(error, SfcperfError):
        _say(_lines(error))
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | Interrupted):
        _say(["interrupted"])
        return ExitCode.INTERRUPTED
    if _is_lack_of_memory(error):
        _say(["not enough memory", "hint: see `ulimit -v` and the memory that is free"])
        return ExitCode.ENVIRONMENT
    if isinstance(error, OSError) and error.errno in _ENVIRONMENT:
        _say([shown(f"{error.filename or 'the system'}: {error.strerror}"), *_about_disks(error)])
        return ExitCode.ENVIRONMENT
    _say(
        [
            f"internal error: {type(error).__name__}: {shown(str(error))}",
            f"hint: please report it; the traceback is in {_keep(error)}",
        ]
    )
    return ExitCode.INTERNAL


def _about_disks(error: OSError) -> list[str]:
    """Return a hint if a disk is full; none for other errors."""
    from sfcperf.environment.state_root import state_root

    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return []
    return [
        f"hint: results and {state_root()} need room. Files that functions wrote in the latter are "
        "removed already: a program may have filled it"
    ]


def _is_lack_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or a cause of it, is a lack of memory. Libraries report that in words of
    their own: the loader of modules, threads, and extensions that quote the error of an import."""
    message = (
        "failed to map segment",
        "cannot allocate memory",
        "memory allocation still failed",
        "can't start new thread",
        "memoryerror",
    )
    return error is not None and (
        isinstance(error, MemoryError)
        or any(words in str(error).lower() for words in message)
        or _is_lack_of_memory(error.__cause__ or error.__context__)
    )


def _lines(error: SfcperfError) -> list[str]:
    """Return the lines that explain an error, and, for a WorkflowError, those of the other errors
    that it carries."""
    lines = error.lines()
    if isinstance(error, WorkflowError):
        for other in error.others:
            lines += other.lines()
        if error.more:
            lines.append(f"and {error.more} more")
    # Lines are escaped: errors may quote a file of somebody else, with control characters.
    return [shown(part) for line in lines for part in line.split("\n")]


def _keep(error: BaseException) -> str:
    """Append the traceback to a log in the state folder, and return the log's path. If the log
    cannot be written, return a text with the traceback itself."""
    import traceback

    from sfcperf.environment.state_root import state_root
    from sfcperf.results.files import replace_file
    from sfcperf.results.records import utc_now

    text = "".join(traceback.format_exception(error))
    try:
        path = state_root() / "errors.log"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = path.read_text(errors="replace") if path.is_file() else ""
        # The start is cut off: the end of a traceback, and the newest one, say most.
        kept = f"{before}\n{utc_now()} {text}"[-_LOG_CHARACTERS:]
        replace_file(path, kept)
    except (OSError, SfcperfError):
        return f"what follows:\n{text}"
    return str(path)


def _say(lines: list[str]) -> None:
    # The terminal may be gone (SIGHUP): the exit code still says what happened.
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr)
