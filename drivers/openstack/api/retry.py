"""The retry policy of the driver: how often, and after which pauses, it calls the cloud again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_delay,
    wait_exponential,
)

from sfcperf import waiting
from sfcperf.drivers.openstack.api.errors import (
    CloudError,
    Failure,
    FailureKind,
    call_errors,
    diagnose,
)
from sfcperf.errors import DeploymentError


@dataclass(frozen=True)
class RetryPolicy:
    """All waits of the driver for the cloud; tests shorten them. Seconds."""

    timeout_s: float = 75.0
    """Time for retries of one call, from its first failure; the call itself comes on top."""
    conflict_timeout_s: float = 30.0
    """Time for retries after 409: a resource that is in use for longer will not settle."""
    unauthorized_retries: int = 2
    """Retries after 401. A keystone with a fault answers so for a while, and wrong passwords always
    do."""
    first_pause_s: float = 0.5
    longest_pause_s: float = 10.0
    first_poll_s: float = 0.4
    """First pause between looks at something that is awaited; the pauses grow to the next value."""
    longest_poll_s: float = 3.0
    servers_poll_s: float = 0.7
    """Pause between looks at all servers that boot."""
    removal_poll_s: float = 0.5
    """Pause between looks at what is being removed."""
    removal_timeout_s: float = 120.0
    """Time for the removal of all resources of one kind."""
    delete_again_s: float = 8.0
    """A deletion that has no effect is requested again: its worker may have died."""
    deleting_again_s: float = 40.0
    """Time after which the deletion of a stack is requested again while heat says that it deletes
    it. Another request cancels heat's work, so this is longer."""
    late_check_s: float = 3.0
    """Pause before another look for what a lost request creates late."""

    def polling(self, what: str, timeout_s: float) -> Retrying:
        """Return a callable that calls the function given to it until this returns something other
        than None. It raises DeploymentError at the timeout; `what` names the wait in messages."""

        def give_up(_: RetryCallState) -> Any:
            raise DeploymentError(f"{what}: not done within {timeout_s:g} s")

        return Retrying(
            retry=retry_if_result(lambda found: found is None),
            wait=wait_exponential(self.first_poll_s, self.longest_poll_s, exp_base=1.3),
            stop=stop_after_delay(timeout_s),
            sleep=waiting.sleep,
            retry_error_callback=give_up,
        )

    def retrying(
        self, what: str, log: Callable[[str], None], sleep: Callable[[float], None]
    ) -> Retrying:
        """Return a callable that calls the function given to it until this succeeds. It raises
        CloudError when retries are over; `what` names the call in messages. `log` gets a line for
        each retry, and `sleep` waits before it."""
        budget = _Budget(self)

        def before_sleep(state: RetryCallState) -> None:
            why, pause_s = budget.failure.message, state.upcoming_sleep
            log(f"openstack: {what}: {why}; retrying in {pause_s:.1f} s")

        def give_up(state: RetryCallState) -> Any:
            raise CloudError(what, budget.failure) from _error_of(state)

        return Retrying(
            retry=retry_if_exception_type(call_errors()),
            wait=budget.wait_s,
            stop=budget.is_spent,
            sleep=sleep,
            before_sleep=before_sleep,
            retry_error_callback=give_up,
        )


DEFAULT = RetryPolicy()
INTERACTIVE = RetryPolicy(timeout_s=10.0)
"""Policy while a user waits for the answer of `doctor`."""


class _Budget:
    """The time for retries of one call. After each failure tenacity calls `wait_s`, which computes
    the time that is left, and then `is_spent`."""

    def __init__(self, policy: RetryPolicy) -> None:
        self.failure: Failure
        """The latest failure."""
        self._policy = policy
        self._backoff = wait_exponential(policy.first_pause_s, policy.longest_pause_s)
        self._first_failed_at: float | None = None
        self._left_s = 0.0
        self._unauthorized = 0
        """How many failures were 401."""

    def wait_s(self, state: RetryCallState) -> float:
        """Return the pause before the next try: exponential, with jitter, so that threads do not
        come back together. The cloud's own Retry-After counts as long as it leaves time for one
        more try."""
        self.failure = diagnose(_error_of(state))
        now = state.outcome_timestamp or 0.0
        if self._first_failed_at is None:
            self._first_failed_at = now
        self._left_s = self._first_failed_at + self._allowed_s() - now
        pause_s = self._backoff(state) * random.uniform(0.5, 1.5)
        return min(max(pause_s, self.failure.retry_after_s or 0.0), self._left_s)

    def is_spent(self, _: RetryCallState) -> bool:
        """Whether the latest failure is final: `wait_s` has found no time left."""
        return self._left_s <= 0

    def _allowed_s(self) -> float:
        """Return how long after the first failure a call may be retried, given the latest failure;
        0: this one is final. Each failure with 401 is counted."""
        policy, kind = self._policy, self.failure.kind
        if kind is FailureKind.CONFLICT:
            return min(policy.conflict_timeout_s, policy.timeout_s)
        if kind is FailureKind.UNAUTHORIZED:
            self._unauthorized += 1
            return policy.timeout_s if self._unauthorized <= policy.unauthorized_retries else 0.0
        return policy.timeout_s if kind is FailureKind.TRANSIENT else 0.0


def _error_of(state: RetryCallState) -> Exception:
    """Return the error of the call that has just failed."""
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, Exception)
    return error
