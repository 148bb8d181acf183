"""The `sfcperf` command, as a process and in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.ended import ended
from support.local import left_by
from support.signals import default_signals

SFCPERF = str(Path(sys.executable).with_name("sfcperf"))


def spawn(*argv: object, **how: Any) -> subprocess.Popen[str]:
    """With these arguments, text on its pipes, and the signals of a terminal. `how`: further
    arguments of Popen."""
    return subprocess.Popen(
        [SFCPERF, *map(str, argv)],
        stdin=subprocess.DEVNULL,
        text=True,
        preexec_fn=default_signals,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
    )


def run_folder(
    workflow: str | Path,
    results: Path,
    changes: Mapping[str, Any] | None = None,
    *,
    timeout_s: float,
) -> Path:
    """Folder of a run of a workflow with these values by path, which has left nothing behind.

    On a busy machine trials may be untrusted, which exit code 1 says; none may fail.
    """
    argv = [SFCPERF, "run", str(workflow), "--results", str(results), "--quiet"]
    for path, value in (changes or {}).items():
        argv += ["--set", f"{path}={json.dumps(value)}"]
    done = ended(argv, timeout_s=timeout_s)
    assert done.returncode in (0, 1), done.stderr
    (line,) = done.stdout.splitlines()
    folder = Path(line)
    assert left_by(folder) == []
    return folder


class Command:
    """In this process: a call gives the exit code, and `out` and `err` what it printed."""

    def __init__(self, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
        self._run = run
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *argv: object) -> int:
        self._capsys.readouterr()
        code = self._run(*argv)
        self.out, self.err = self._capsys.readouterr()
        return code
