"""Signals: they end a run in order, and only where that is safe."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.engine import Bench

from sfcperf.control.interrupts import SIGNALS, Interrupted, Interrupts
from sfcperf.errors import InterruptedRun
from sfcperf.hosts.process import run


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """A test runner that was started in the background ignores SIGINT."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_raises_where_it_is_allowed(number: signal.Signals) -> None:
    interrupts = Interrupts()
    with interrupts, pytest.raises(Interrupted, match=number.name), interrupts.allowed:
        send(number)
        pytest.fail("the signal was not noticed")


def test_elsewhere_it_is_noted_and_raised_at_the_next_check() -> None:
    with Interrupts() as interrupts:
        send(signal.SIGTERM)
        assert interrupts.requested == "SIGTERM"
        with pytest.raises(Interrupted), interrupts.allowed:
            pytest.fail("the block was entered")
        assert interrupts.allowed.depth == 0


def test_a_second_signal_never_raises() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(Interrupted), interrupts.allowed:
            try:
                send(signal.SIGINT)
            finally:
                # What is removed on the way out is removed in whole.
                send(signal.SIGINT)
                send(signal.SIGTERM)
        send(signal.SIGHUP)


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interrupts() as interrupts, interrupts.allowed:
        send(signal.SIGHUP)
    assert interrupts.requested is None
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_handlers_are_put_back() -> None:
    with Interrupts():
        pass
    assert all(signal.getsignal(number) is signal.SIG_DFL for number in SIGNALS)


def test_outside_of_the_main_thread_signals_are_left_alone() -> None:
    entered = []

    def work() -> None:
        with Interrupts() as interrupts, interrupts.allowed:
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


def test_a_thread_in_another_network_namespace_comes_home_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = ["net:[1]"]
    monkeypatch.setattr("sfcperf.control.interrupts._network", lambda: where[0])
    at_home = False
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        where[0] = "net:[2]"
        send(signal.SIGTERM)
        assert interrupts.requested == "SIGTERM"
        at_home = True
        where[0] = "net:[1]"
        signal.pause()
    assert at_home


def test_a_process_that_was_forked_is_ended_before_the_signal_takes_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    class InterruptedAtBirth(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            # Whoever asked for the process does not have its pid yet.
            send(signal.SIGTERM)

    monkeypatch.setattr("sfcperf.hosts.process.subprocess.Popen", InterruptedAtBirth)
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        run(["sleep", "30"], timeout_s=20)
    (process,) = started
    assert process.returncode == -signal.SIGKILL


def test_a_process_whose_end_was_seen_when_the_signal_came_is_left_in_peace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited = os.waitpid

    def interrupted_wait(pid: int, options: int) -> tuple[int, int]:
        end = waited(pid, options)
        if end[0] == pid:
            send(signal.SIGTERM)
        return end

    monkeypatch.setattr("os.waitpid", interrupted_wait)
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        run(["true"], timeout_s=20)


def test_a_signal_in_a_finalizer_is_not_lost() -> None:
    class Dying:
        def __del__(self) -> None:
            send(signal.SIGTERM)

    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        dying = Dying()
        del dying
        signal.pause()


def test_a_signal_in_the_middle_of_a_measurement_ends_the_run(bench: Bench) -> None:
    script = {"r001-s001-a/attempt-1": "terminate"}
    probes = [{"probe": "fake", "name": "a", "script": script}]
    with pytest.raises(InterruptedRun, match="SIGTERM") as caught:
        bench.start(probes=probes)
    assert "sfcperf resume" in (caught.value.hint or "")
    assert "r001-s001-a" not in bench.by_id()
    assert bench.manifest()["status"] == "interrupted"
    assert bench.leftovers() == []
