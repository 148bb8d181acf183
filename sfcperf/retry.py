"""Retry: do something again until it succeeds or its time is over; pauses can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sfcperf import waiting

if TYPE_CHECKING:
    from tenacity import RetryCallState

# tenacity is imported at the first use: it takes as long as a short command.

T = TypeVar("T")

LONGEST_PAUSE_S = 1.0
"""Longest pause between two looks of `until`."""


def until(look: Callable[[], T], *, timeout_s: float, period_s: float) -> T:
    """Call `look` until it returns something true, or timeout_s is over; return its last result. An
    error of `look` is raised at once.

    A pause is as long as a look takes on average, but at most LONGEST_PAUSE_S, and at least
    `period_s`. On this machine a look takes microseconds, so the result is seen at once. Where each
    look is a command on another machine, half of the time is left for the work that is waited for.
    """
    import tenacity

    def pause_s(state: RetryCallState) -> float:
        looked_s = (state.seconds_since_start or 0.0) - state.idle_for
        return max(period_s, min(looked_s / state.attempt_number, LONGEST_PAUSE_S))

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda seen: not seen),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=pause_s,
        sleep=waiting.sleep,
        retry_error_callback=lambda state: state.outcome and state.outcome.result(),
    )
    return retrying(look)


def call(
    action: Callable[[], T],
    passes: Callable[[BaseException], bool],
    *,
    timeout_s: float,
    first_s: float,
    longest_s: float,
) -> T:
    """Call `action` and return its result. `passes` says whether an error will pass by itself:
    after such an error, `action` is called again, until timeout_s is over.

    Pauses are random, up to a limit that doubles from first_s to longest_s (exponential back-off
    with full jitter). So clients that were cut off together do not come back together. Raises the
    error of the last try.
    """
    import tenacity

    backoff = tenacity.wait_random_exponential(first_s, longest_s, min=first_s / 2)

    def pause_s(state: RetryCallState) -> float:
        # No pause is longer than the time that is left: when that is over, there is a last try.
        return min(backoff(state), max(0.0, timeout_s - (state.seconds_since_start or 0.0)))

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(passes),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=pause_s,
        sleep=waiting.sleep,
        reraise=True,
    )
    return retrying(action)
