"""Signals: they end a run in order, and only where that is safe."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.engine import Bench, faulty

from sfcperf import waiting
from sfcperf.control.interrupts import SIGNALS, Interrupted, Interrupts
from sfcperf.errors import InterruptedRun
from sfcperf.hosts.process import run

pytestmark = pytest.mark.usefixtures("default_handlers")


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_wait_where_it_is_allowed(number: signal.Signals) -> None:
    with Interrupts() as interrupts, pytest.raises(Interrupted, match=number.name):
        threading.Timer(0.2, send, [number]).start()
        with interrupts.allowed:
            waiting.sleep(60)
            pytest.fail("the signal was not noticed")


def test_nothing_but_a_wait_is_cut_short() -> None:
    """Not even the steps of a thread that is in another network namespace for a moment."""
    whole = False
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        send(signal.SIGTERM)
        assert interrupts.requested == "SIGTERM"
        whole = True
        waiting.sleep(60)
        pytest.fail("the signal was not noticed")
    assert whole


def test_what_never_waits_is_interrupted_at_its_end() -> None:
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        send(signal.SIGTERM)


def test_elsewhere_it_is_noted_and_raised_at_the_next_check() -> None:
    with Interrupts() as interrupts:
        send(signal.SIGTERM)
        assert interrupts.requested == "SIGTERM"
        waiting.sleep(0.02)
        with pytest.raises(Interrupted), interrupts.allowed:
            pytest.fail("the block was entered")
        with pytest.raises(Interrupted), interrupts.allowed_anywhere():
            pytest.fail("the block was entered")
        with pytest.raises(Interrupted):
            interrupts.check()


def test_a_second_signal_never_raises(capfd: pytest.CaptureFixture[str]) -> None:
    with Interrupts() as interrupts:
        with pytest.raises(Interrupted, match="SIGINT"), interrupts.allowed:
            try:
                send(signal.SIGINT)
                waiting.sleep(60)
            finally:
                # What is removed on the way out is removed in whole.
                send(signal.SIGINT)
                send(signal.SIGTERM)
                waiting.sleep(0.02)
        send(signal.SIGHUP)
        waiting.sleep(0.02)
    assert capfd.readouterr().err.count("already stopping; what was built is being removed") == 3


def test_a_computation_that_owns_nothing_is_interrupted_anywhere() -> None:
    with Interrupts() as interrupts:
        threading.Timer(0.2, send, [signal.SIGTERM]).start()
        with pytest.raises(Interrupted, match="SIGTERM"), interrupts.allowed_anywhere():
            try:
                while True:
                    sum(range(1000))
            finally:
                send(signal.SIGINT)
        send(signal.SIGINT)


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("where", ["allowed", "anywhere"])
def test_a_signal_in_a_finalizer_is_not_lost(where: str) -> None:
    """Python drops an exception that is raised there."""

    class Dying:
        def __del__(self) -> None:
            send(signal.SIGTERM)

    with Interrupts() as interrupts:
        block = interrupts.allowed if where == "allowed" else interrupts.allowed_anywhere()
        with pytest.raises(Interrupted), block:
            dying = Dying()
            del dying


def test_a_command_is_ended_with_its_children(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = 'sleep 4321 & echo $! >"$0.part"; mv "$0.part" "$0"; wait'

    def interrupt() -> None:
        while not started.exists():
            time.sleep(0.01)
        send(signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    with Interrupts() as interrupts, pytest.raises(Interrupted), interrupts.allowed:
        interrupting.start()
        run(["sh", "-c", script, str(started)], timeout_s=60)
    interrupting.join()
    stat = Path(f"/proc/{started.read_text().strip()}/stat")
    while stat.exists() and stat.read_text().split()[2] != "Z":
        time.sleep(0.01)


def test_a_signal_in_the_middle_of_a_measurement_ends_the_run(bench: Bench) -> None:
    with pytest.raises(InterruptedRun, match="SIGTERM") as caught:
        bench.start(probes=[faulty(attempt1="terminate")])
    assert "sfcperf resume" in (caught.value.hint or "")
    assert "r001-s001-a" not in bench.by_id()
    assert bench.manifest()["status"] == "interrupted"
    assert bench.leftovers() == []
