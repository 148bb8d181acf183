"""Patience: looking at a host again and again until what is awaited is there."""

from __future__ import annotations

import time

from sfcperf.hosts.abandon import pause

LONGEST_PAUSE_S = 1.0


class Patience:
    """Pauses between two looks, and an end of all waiting.

    A pause is as long as the look before it took, and at least `period_s`: in this machine, where a
    look takes microseconds, what is awaited is seen at once; where each look is a command on
    another machine, half of the time is left to what that machine is to do.
    """

    def __init__(self, timeout_s: float, period_s: float) -> None:
        self._period_s = period_s
        self._looking_since = time.monotonic()
        self._deadline = self._looking_since + timeout_s

    @property
    def over(self) -> bool:
        """Whether timeout_s has passed."""
        return time.monotonic() > self._deadline

    def pause(self) -> None:
        """Sleep after a look in vain."""
        looked_s = time.monotonic() - self._looking_since
        pause(min(max(self._period_s, looked_s), max(self._period_s, LONGEST_PAUSE_S)))
        self._looking_since = time.monotonic()
