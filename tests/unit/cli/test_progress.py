"""What is seen of a run while it runs: the bar, the time left, and how messages are wrapped."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
import termios
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.engine import Bench

from sfcperf.cli.terminal.bar import BarDisplay
from sfcperf.cli.terminal.lines import say
from sfcperf.cli.terminal.text import wrapped
from sfcperf.control.events import Listener

MESSAGE = "the sender reached 9.417 of the 10.000 Mbit/s requested, see /a/path/that-is/long.txt"
BAR = re.compile(r"[━╸╺]+")


def test_the_bar_keeps_its_width_over_a_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn after each event of a run with its long scenario, retries and messages."""
    monkeypatch.setenv("TERM", "xterm")
    output, width = StringIO(), 80
    console = Console(file=output, force_terminal=True, width=width, color_system="standard")
    display = BarDisplay(console)
    shown = _drawn_after_each_event(display)
    display.message(MESSAGE)
    bench.start(shown, factors={"chain_length": [1, 2]})
    display.close()
    text = re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue())
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "\n", text).splitlines()
    bars = [line for line in lines if BAR.search(line)]
    assert len(bars) > 20
    assert {len(BAR.findall(line)[0]) for line in bars} == {width - len(" 9999/9999 99:59:59")}
    assert all(len(line) <= width for line in lines if not line.startswith(str(bench.results)))
    assert any(re.fullmatch(r"round 2, chain_length=2: \S+, measuring *", line) for line in lines)


def _drawn_after_each_event(display: BarDisplay) -> Listener:
    def drawing(method: Callable[..., None]) -> Callable[..., None]:
        def draw(*given: Any) -> None:
            method(*given)
            display._progress.refresh()

        return draw

    shown = Listener()
    for name in vars(Listener):
        if not name.startswith("_"):
            setattr(shown, name, drawing(getattr(display, name)))
    return shown


def test_messages_on_a_terminal_are_wrapped_at_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with os.fdopen(theirs, "w") as terminal, os.fdopen(ours, "rb", buffering=0) as screen:
        monkeypatch.setattr(sys, "stderr", terminal)
        say(f"  {MESSAGE}\nshort")
        lines = screen.read(4096).decode().split("\r\n")
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(" ".join(lines).split()) == f"{MESSAGE} short"
    assert all(line.startswith("  ") for line in lines[:-2])


def test_messages_in_a_pipe_stay_on_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(3 * MESSAGE)
    assert capsys.readouterr().err == 3 * MESSAGE + "\n"


def test_a_path_is_never_broken() -> None:
    path = Path("/results") / ("a-b" * 30)
    assert wrapped(f"report: {path}", 40).split("\n") == ["report:", str(path)]
