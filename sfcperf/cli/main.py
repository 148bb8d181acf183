"""Entry point of the `sfcperf` command; imports nothing before Ctrl-C is taken care of."""

from __future__ import annotations

import os
import resource
import sys

_LEAST_MIB = 512
"""Least memory that the command needs. With less, libraries in other languages do not raise
MemoryError: OpenBLAS loops without end, and Rust prints the traceback of an import."""
_LIMITS = {"-v": resource.RLIMIT_AS, "-d": resource.RLIMIT_DATA}
"""Option of `ulimit` -> the limit of memory that it sets."""


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    # Exit codes are numbers here, because not even `sfcperf.errors` is imported yet.
    try:
        _be_utf8()
        code = _run() if _is_enough_memory() else 3
    except KeyboardInterrupt:
        # Ctrl-C came before `exit_code_after` took care of signals.
        print("interrupted", file=sys.stderr)
        code = 130
    except (MemoryError, ImportError, OSError) as error:
        # There is not even enough memory for the modules that explain errors.
        if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
            raise
        print("not enough memory", file=sys.stderr)
        code = 3
    sys.exit(code)


def _is_enough_memory() -> bool:
    """Whether `ulimit` leaves enough memory. If not, say on stderr what it allows."""
    for option, kind in _LIMITS.items():
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY and limit < _LEAST_MIB << 20:
            print(
                f"not enough memory: `ulimit {option}` allows {limit >> 20} MiB\n"
                f"hint: allow {_LEAST_MIB} MiB or more: `ulimit {option} {_LEAST_MIB << 10}`",
                file=sys.stderr,
            )
            return False
    return True


def _be_utf8() -> None:
    """Make Python use UTF-8 whatever the locale says. Python's UTF-8 mode can only be chosen at the
    start, so the process executes itself again. Child processes inherit the mode."""
    import locale

    is_utf8 = locale.getpreferredencoding(False).lower().replace("-", "") == "utf8"
    if not is_utf8 and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _run() -> int:
    """Run the command line on safe standard streams, and return the exit code."""
    from sfcperf.cli.terminal.escaping import escaped_streams
    from sfcperf.cli.terminal.streams import open_missing_streams, tolerant_streams

    open_missing_streams()
    with tolerant_streams(), escaped_streams():
        return _run_app()


def _run_app() -> int:
    """Run the command line, explain errors on stderr, and return the exit code."""
    from sfcperf.cli.failures import exit_code_after
    from sfcperf.cli.terminal.streams import flush_stdout

    code = exit_code_after(_run_verb)
    flush_stdout()
    return code


def _run_verb() -> int:
    """Run the verb that the command line names, and return its exit code. Errors are raised."""
    from sfcperf.cli.app import click_command

    try:
        click_command()()
    except SystemExit as end:
        if isinstance(end.code, str):
            # Only a plug-in ends a process so, to say why it cannot go on.
            raise RuntimeError(f"a plug-in ended the command: {end.code}") from end
        return end.code or 0
    return 0
