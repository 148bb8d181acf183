"""Waits: they end when what is awaited is there, when time is over, and when they are cancelled."""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path

import pytest

from sfcperf import waiting
from sfcperf.waiting import Cancellation, Event

LONG_S = 60.0
"""No wait of these tests comes to its end by itself."""


class Stop(BaseException):
    pass


@pytest.fixture
def stop() -> Cancellation:
    return Cancellation(Stop)


@contextmanager
def soon(action: Callable[[], object]) -> Iterator[None]:
    """Done by another thread while this one waits."""
    timer = threading.Timer(0.1, action)
    timer.start()
    started = time.monotonic()
    yield
    timer.join()
    assert time.monotonic() - started < LONG_S / 2


WAITS: list[Callable[[], object]] = [
    lambda: waiting.sleep(LONG_S),
    lambda: waiting.poll({}, LONG_S),
    lambda: waiting.poll({}),
    lambda: Event().wait(),
    lambda: waiting.result(Future()),
    lambda: list(waiting.as_completed([Future(), Future()])),
]


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_is_cancelled(wait: Callable[[], object], stop: Cancellation) -> None:
    with soon(stop.set), pytest.raises(Stop), waiting.cancelled_by(stop):
        wait()


@pytest.mark.parametrize("wait", [*WAITS, lambda: waiting.sleep(0.001), waiting.check])
def test_one_that_begins_too_late_is_cancelled_at_once(
    wait: Callable[[], object], stop: Cancellation
) -> None:
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        stop.set()
        wait()


def test_nothing_is_cut_short_between_two_waits(stop: Cancellation) -> None:
    """Nor is another error replaced."""
    done = []
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        stop.set()
        done.append("whole")
    assert done == ["whole"]
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        done.append("not begun")
    assert done == ["whole"]
    other = Cancellation(Stop)
    with pytest.raises(KeyError), waiting.cancelled_by(other):
        other.set()
        raise KeyError


def test_who_cleans_up_waits_undisturbed(stop: Cancellation) -> None:
    cleaned = []
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        try:
            stop.set()
            waiting.sleep(LONG_S)
        finally:
            waiting.sleep(0.02)
            with waiting.cancelled_by(Cancellation(KeyError)):
                waiting.sleep(0.02)
            waiting.sleep(0.02)
            cleaned.append(True)
    assert cleaned == [True]


def test_one_around_is_raised_once_too(stop: Cancellation) -> None:
    """It is raised in an inner block; on the way through the outer one it must not come again."""
    cleaned = []
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        try:
            with waiting.cancelled_by(Cancellation(KeyError)):
                stop.set()
                waiting.sleep(LONG_S)
        finally:
            waiting.sleep(0.02)
            cleaned.append(True)
    assert cleaned == [True]


def test_two_at_once_are_raised_one_after_the_other(stop: Cancellation) -> None:
    inner = Cancellation(KeyError)
    with pytest.raises(KeyError), waiting.cancelled_by(stop), waiting.cancelled_by(inner):
        stop.set()
        inner.set()
        with pytest.raises(Stop):
            waiting.sleep(LONG_S)
        waiting.sleep(LONG_S)


def test_after_the_block_nothing_is_cancelled(stop: Cancellation) -> None:
    with waiting.cancelled_by(stop):
        pass
    stop.set()
    assert not waiting.cancelled()
    waiting.sleep(0.02)


def test_a_shield_holds_it_off(stop: Cancellation) -> None:
    with pytest.raises(Stop), waiting.cancelled_by(stop):
        with waiting.shielded():
            stop.set()
            assert not waiting.cancelled()
            waiting.sleep(0.02)
        assert waiting.cancelled()
        waiting.sleep(LONG_S)


def test_a_thread_is_cancelled_in_a_copy_of_the_context_only(stop: Cancellation) -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(Stop), waiting.cancelled_by(stop):
        free = pool.submit(waiting.sleep, 0.3)
        bound = pool.submit(copy_context().run, waiting.sleep, LONG_S)
        stop.set()
        assert isinstance(bound.exception(), Stop)
        assert free.exception() is None


def test_what_came_is_given() -> None:
    reader, writer = os.pipe()
    other, _ = pair = os.pipe()
    try:
        assert waiting.poll({reader: select.POLLIN}, 0) == set()
        events = {reader: select.POLLIN, other: select.POLLIN}
        with soon(lambda: os.write(writer, b"x")):
            assert waiting.poll(events, LONG_S) == {reader}
    finally:
        for file in (reader, writer, *pair):
            os.close(file)


def test_time_is_over() -> None:
    started = time.monotonic()
    assert waiting.poll({}, 0.05) == set()
    assert not Event().wait(0.05)
    waiting.sleep(0.05)
    assert 0.15 <= time.monotonic() - started < LONG_S / 2


def test_futures_come_in_the_order_in_which_they_complete() -> None:
    first, second, third = futures = [Future[int]() for _ in range(3)]
    third.set_result(3)
    completed = waiting.as_completed(futures)
    assert next(completed) is third
    with soon(lambda: first.set_result(1)):
        assert next(completed) is first
    second.set_exception(KeyError())
    assert next(completed) is second
    assert list(completed) == []
    with pytest.raises(KeyError):
        waiting.result(second)


def test_no_descriptor_stays_open() -> None:
    def wait_in_vain(future: Future[None]) -> None:
        stop = Cancellation(Stop)
        with suppress(Stop), waiting.cancelled_by(stop):
            stop.set()
            waiting.result(future)

    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    future: Future[None] = Future()
    for _ in range(20):
        wait_in_vain(future)
    # The future still refers to those who waited; its end must not write to a descriptor of others.
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 20
    future.set_result(None)
    del future
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_signal_that_another_thread_received_wakes_the_main_thread(stop: Cancellation) -> None:
    """The main thread's system call is not interrupted then, as when the signal came before it."""
    before = signal.signal(signal.SIGUSR1, lambda *_: stop.set())

    def receive() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    try:
        with (
            waiting.woken_by_signals(),
            soon(receive),
            pytest.raises(Stop),
            waiting.cancelled_by(stop),
        ):
            waiting.sleep(LONG_S)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_means_nothing_to_a_wait_does_not_end_it() -> None:
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(True))
    event = Event()
    threading.Timer(0.3, event.set).start()
    try:
        with waiting.woken_by_signals(), soon(lambda: os.kill(os.getpid(), signal.SIGUSR1)):
            assert event.wait(LONG_S)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [True]


def test_the_descriptor_of_wake_ups_is_put_back() -> None:
    def current() -> int:
        file = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(file, warn_on_full_buffer=False)
        return file

    with waiting.woken_by_signals():
        outer = current()
        with waiting.woken_by_signals():
            assert current() not in (-1, outer)
        assert current() == outer
    assert current() == -1
