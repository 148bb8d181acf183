"""Patience: how often, and after which pauses, a call of the cloud is tried again."""

from __future__ import annotations

import random
import time

from sfcperf.drivers.openstack.api.errors import Failure, Verdict

PATIENCE_S = 75.0
"""For one call, from its first failure; what the call itself takes comes on top."""
IN_USE_S = 30.0
"""The same for 409: what is in use for longer is not settling."""
REFUSALS = 2
"""Further tries after 401: a keystone that fails answers so, wrong passwords always do."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0


class Turns:
    """The tries of one call. `now` and `jitter` are for tests."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self.failures = 0
        self._since: float | None = None
        self._refused = 0

    def pause_s(self, failure: Failure) -> float | None:
        """How long to wait before the next try; None: no more of them.

        Exponential with jitter, so that many threads do not come back together; the cloud's own
        Retry-After is kept where it leaves time for one more try.
        """
        now = time.monotonic()
        if self._since is None:
            self._since = now
        left_s = self._since + self._allowed_s(failure) - now
        if left_s <= 0:
            return None
        pause_s: float = min(FIRST_PAUSE_S * 2.0**self.failures, LONGEST_PAUSE_S) * random.uniform(
            0.5, 1.5
        )
        self.failures += 1
        if failure.retry_after_s is not None:
            pause_s = max(pause_s, failure.retry_after_s)
        return min(pause_s, left_s)

    def _allowed_s(self, failure: Failure) -> float:
        if failure.verdict is Verdict.AGAIN:
            return self.patience_s
        if failure.verdict is Verdict.IN_USE:
            return min(IN_USE_S, self.patience_s)
        if failure.verdict is Verdict.REFUSED:
            self._refused += 1
            return self.patience_s if self._refused <= REFUSALS else 0.0
        return 0.0
