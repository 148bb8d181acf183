"""Retry by a clock that the test moves."""

from __future__ import annotations

import itertools
import threading
import time as real_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf import retry, waiting
from sfcperf.retry import LONGEST_PAUSE_S


class Time:
    """Stands still, but for sleeping and what a look takes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []
        patch.setattr("tenacity.time", self)
        patch.setattr(waiting, "sleep", self.sleep)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


@given(st.floats(0, 5), st.floats(0.0001, 2))
def test_a_pause_is_as_long_as_a_look(look_s: float, period_s: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        time = Time(patch)
        looks = itertools.count()

        def look() -> bool:
            time.now_s += look_s
            return next(looks) == 20

        assert retry.until(look, timeout_s=1000, period_s=period_s)
        assert len(time.slept) == 20
        for slept_s in time.slept:
            assert slept_s >= period_s
            assert slept_s == pytest.approx(max(period_s, min(look_s, LONGEST_PAUSE_S)), abs=1e-6)


def test_looking_ends(time: Time) -> None:
    """With what is seen, with an error, or when time is over."""
    assert retry.until(lambda: "here", timeout_s=1.0, period_s=0.3) == "here"
    with pytest.raises(ZeroDivisionError):
        retry.until(lambda: 1 / 0, timeout_s=1.0, period_s=0.3)
    assert time.slept == []
    assert retry.until(lambda: 0, timeout_s=1.0, period_s=0.3) == 0
    assert len(time.slept) == 4


class Away(Exception):
    pass


def fail(times: int, error: type[Exception] = Away) -> retry.Callable[[], str]:
    left = iter(range(times))

    def action() -> str:
        if next(left, None) is not None:
            raise error
        return "done"

    return action


def call(action: retry.Callable[[], str], timeout_s: float = 1000.0) -> str:
    return retry.call(
        action,
        lambda error: isinstance(error, Away),
        timeout_s=timeout_s,
        first_s=0.2,
        longest_s=10.0,
    )


def test_pauses_grow_up_to_the_longest(time: Time) -> None:
    assert call(fail(60)) == "done"
    assert len(time.slept) == 60
    for number, slept_s in enumerate(time.slept):
        assert 0.1 <= slept_s <= min(10.0, 0.2 * 2**number)
    assert max(time.slept) > 5
    assert len(set(time.slept)) > 50


def test_trying_again_ends_in_time_with_the_last_error(time: Time) -> None:
    with pytest.raises(ValueError):
        call(fail(1, ValueError))
    assert time.slept == []
    with pytest.raises(Away):
        call(fail(1000), timeout_s=30.0)
    assert time.now_s == pytest.approx(130.0)


def test_a_pause_can_be_cancelled() -> None:
    cancellation = waiting.Cancellation(KeyError)
    threading.Timer(0.2, cancellation.set).start()
    started = real_time.monotonic()
    with pytest.raises(KeyError), waiting.cancelled_by(cancellation):
        retry.until(lambda: False, timeout_s=60, period_s=30)
    assert real_time.monotonic() - started < 20
