"""Signals of the processes that tests start."""

from __future__ import annotations

import signal


def default_signals() -> None:
    """A test runner that was started in the background ignores SIGINT, and so would its child."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
