"""The console for tables on stdout."""

from __future__ import annotations

from rich.console import Console

WIDTH_OF_A_FILE = 120
"""Columns when stdout is no terminal."""


def console() -> Console:
    """Plain text as given: names of a workflow are data, never markup."""
    terminal = Console(highlight=False, markup=False)
    if terminal.is_terminal:
        return terminal
    return Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)
