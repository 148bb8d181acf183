"""Patience by a clock that the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.hosts import patience
from sfcperf.hosts.patience import LONGEST_PAUSE_S, Patience


class Time:
    """Stands still, but for sleeping and what a look takes."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@given(st.lists(st.floats(0, 5), min_size=1, max_size=20), st.floats(0.0001, 2))
def test_a_pause_is_as_long_as_the_look(looks: list[float], period_s: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        time = Time()
        patch.setattr(patience, "time", time)
        patch.setattr(patience, "pause", time.sleep)
        waiting = Patience(1000, period_s)
        for look_s in looks:
            time.now_s += look_s
            waiting.pause()
        for look_s, slept_s in zip(looks, time.slept, strict=True):
            assert slept_s >= period_s
            assert slept_s == pytest.approx(max(period_s, min(look_s, LONGEST_PAUSE_S)), abs=1e-6)


def test_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    monkeypatch.setattr(patience, "time", time)
    monkeypatch.setattr(patience, "pause", time.sleep)
    waiting = Patience(1.0, 0.3)
    turns = 0
    while not waiting.over:
        waiting.pause()
        turns += 1
    assert turns == 4
