"""Entry point of the `sfcperf` command; imports nothing before Ctrl-C is taken care of."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:
        # So early that signals were not ours yet.
        print("interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)


def _run() -> int:
    """Run the command line and give the exit code."""
    from sfcperf.cli.escaping import escaping
    from sfcperf.cli.streams import open_missing_streams

    open_missing_streams()
    with escaping():
        return _run_app()


def _run_app() -> int:
    from sfcperf.cli.failures import exit_code_of, ignore_signals, signals_interrupt
    from sfcperf.cli.streams import flush_stdout

    signals_interrupt()
    try:
        from sfcperf.cli.app import app

        app()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        ignore_signals()
        code = exit_code_of(error)
    ignore_signals()
    flush_stdout()
    return code
