"""From an exception, and from signals, to messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf.cli import app, failures, main
from sfcperf.cli.failures import exit_code_after
from sfcperf.control.interrupts import SIGNALS
from sfcperf.errors import InputError


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture
def late_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes when a command has ended, before signals are ignored: too short a time to hit,
    so that a mock sends it."""
    ignore = failures._ignore_signals

    def send_first() -> None:
        monkeypatch.setattr(failures, "_ignore_signals", ignore)
        os.kill(os.getpid(), signal.SIGINT)
        ignore()

    monkeypatch.setattr(failures, "_ignore_signals", send_first)


@pytest.mark.usefixtures("late_signal")
def test_a_late_signal_does_not_hide_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise InputError("no such file", where="a.json")

    assert exit_code_after(fail) == 2
    assert capsys.readouterr().err == "a.json: no such file\n"


@pytest.mark.usefixtures("late_signal")
def test_a_signal_at_the_end_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_after(lambda: 0) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_full_disk_is_told_with_the_places_that_need_room(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path))
    assert exit_code_after(lambda: Path("/dev/full").write_text("x")) == 3
    assert str(tmp_path) in capsys.readouterr().err


def test_the_first_signal_interrupts(capsys: pytest.CaptureFixture[str]) -> None:
    def wait() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal did not interrupt")

    assert exit_code_after(wait) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_IGN}


def test_a_plug_in_that_ends_the_process_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "click_command", lambda: lambda: sys.exit("no licence"))
    assert exit_code_after(main._run_verb) == 4
    assert "no licence" in capsys.readouterr().err


def test_an_internal_error_of_a_user_without_a_home_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no place for the log: the traceback is shown."""
    for name in ("SFCPERF_STATE_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for function in ("getuid", "geteuid"):
        monkeypatch.setattr(os, function, lambda: 4_000_000_000)
    assert failures.exit_code_of(KeyError("lost")) == 4
    assert "KeyError: 'lost'" in capsys.readouterr().err
