"""What the judge of attacks measures is the command's own (tests/support/attacks)."""

from __future__ import annotations

import sys
from pathlib import Path

from support.attacks.judge import measured

MIB = 1 << 20


def python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]


def test_the_memory_of_a_large_parent_does_not_count(tmp_path: Path) -> None:
    ballast = b"x" * (600 * MIB)
    assert measured(python("pass"), tmp_path / "output")["peak_mib"] < 50
    assert len(ballast) == 600 * MIB


def test_the_memory_of_a_child_counts(tmp_path: Path) -> None:
    child = f"import subprocess; subprocess.run({python(f'b = bytes(1) * {200 * MIB}')!r})"
    assert 200 < measured(python(child), tmp_path / "output")["peak_mib"] < 250


def test_how_it_ended_and_what_it_said(tmp_path: Path) -> None:
    output = tmp_path / "output"
    program = "import os; print('said', flush=True); os.kill(os.getpid(), 9)"
    assert measured(python(program), output)["exit_code"] == -9
    assert output.read_text() == "said\n"
