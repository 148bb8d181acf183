"""What is seen of a run while it runs: a bar on a terminal, lines elsewhere. All on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sfcperf.cli.terminal.lines import LineDisplay, QuietDisplay
from sfcperf.control.events import Listener


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """Yield the display of a run that fits stderr: a bar on a terminal, else lines. With `quiet`,
    only the run folder's path is printed, on stdout."""
    if quiet:
        yield QuietDisplay()
    elif sys.stderr.isatty():
        from sfcperf.cli.terminal.bar import BarDisplay

        display = BarDisplay()
        try:
            yield display
        finally:
            # The terminal may be gone by now, which is no error.
            with suppress(OSError):
                display.close()
    else:
        yield LineDisplay()
