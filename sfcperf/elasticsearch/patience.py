"""Patience: trying again while a server is away, at moments that no two clients share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from sfcperf.elasticsearch.connection import explaining, is_passing
from sfcperf.elasticsearch.target import Target
from sfcperf.errors import EnvironmentLacks

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0

Result = TypeVar("Result")


def pause_s(attempt: int) -> float:
    """Before the next attempt (from 0): exponential back-off with full jitter, so that clients
    that were cut off together do not come back together."""
    return random.uniform(FIRST_PAUSE_S / 2, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt))


def patiently(target: Target, patience_s: float, step: Callable[[], Result]) -> Result:
    """What `step` gives, tried again for `patience_s` while the server is away.

    `step` must bear being repeated. Raises ServerAway, EnvironmentLacks.
    """
    deadline = time.monotonic() + patience_s
    attempt = 0
    while True:
        try:
            with explaining(target):
                return step()
        except EnvironmentLacks as error:
            left = deadline - time.monotonic()
            if left <= 0 or not is_passing(error.__cause__ or error):
                raise
            time.sleep(min(pause_s(attempt), left))
            attempt += 1
