"""The console for tables on stdout."""

from __future__ import annotations

from rich.console import Console

from sfcperf.cli.streams import drop_stdout

WIDTH_OF_A_FILE = 120
"""Columns when stdout is no terminal."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """A reader that has gone (`| head`) decides neither about a run nor its exit code."""
        drop_stdout()


def console() -> Console:
    """Plain text as given: names of a workflow are data, never markup."""
    terminal = _Console(highlight=False, markup=False)
    if terminal.is_terminal:
        return terminal
    return _Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)
