"""The consoles for tables on stdout, and for progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sfcperf.cli.terminal.escaping import escaped, plain
from sfcperf.cli.terminal.streams import drop_stdout

WIDTH_OF_A_FILE = 120
"""Width of tables in columns when stdout is no terminal."""


class _Console(Console):
    """A console of rich that escapes all text, so that no control character reaches the terminal.
    Its own colours are written as they are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        # rich marks what it sends itself, such as movements of the cursor, as control: it stays.
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text))

    def on_broken_pipe(self) -> None:
        """Discard further output when the reader of stdout has gone (`| head`). That must neither
        end a run nor change its exit code."""
        drop_stdout()


def console() -> Console:
    """Return a console for stdout. It prints text as given: names of a workflow are data, never
    markup."""
    terminal = _Console(file=plain(sys.stdout))
    if terminal.is_terminal:
        return terminal
    return _Console(file=plain(sys.stdout), width=WIDTH_OF_A_FILE)


def progress_console() -> Console:
    """Return a console for stderr, where progress is shown."""
    return _Console(file=plain(sys.stderr))
