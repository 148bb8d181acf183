"""Runs SFCPerf on a hostile input, in a process with a private TMPDIR and state folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import ExitCode
from support.attacks import Attack
from support.attacks.traced import FONTS, strace
from support.command import SFCPERF

MAX_MIB = 512
_HANGS_AFTER_S = 60
"""Above every limit of CPU time: only an input that blocks takes so long."""
_MEASURED = Path(__file__).with_name("measured.py")


@dataclass(frozen=True)
class Behaviour:
    """What SFCPerf did with one hostile input."""

    exit_code: int
    """Negative: the signal that ended it."""
    output: str
    """Standard output and error."""
    cpu_s: float
    """CPU time of the process and its children; wall time would depend on other tests."""
    peak_mib: float
    """Largest resident size of the process or a child."""
    left_behind: tuple[str, ...]
    """Files in TMPDIR and in the state folder that the attack did not make."""


def behaviour(attack: Attack, folder: Path) -> Behaviour:
    """Runs the attack, followed by strace (`traced.faults`). `folder`: empty, the caller's."""
    inputs, temporary, state, home = (folder / name for name in ("inputs", "tmp", "state", "home"))
    for each in (inputs, temporary, state, home):
        each.mkdir()
    arguments = attack.make(inputs)
    before = {*temporary.rglob("*"), *state.rglob("*")}
    environment = {
        **os.environ,
        "HOME": str(home),
        "MPLCONFIGDIR": FONTS,
        "TMPDIR": str(temporary),
        "SFCPERF_STATE_DIR": str(state),
    }
    command = [*strace(arguments, folder), SFCPERF, *arguments]
    output = folder / "output"
    used = measured(command, output, cwd=inputs, env=environment)
    left = sorted({*temporary.rglob("*"), *state.rglob("*")} - before)
    return Behaviour(
        output=output.read_text(errors="replace"),
        left_behind=tuple(str(path.relative_to(folder)) for path in left),
        **used,
    )


def measured(command: Sequence[str], output: Path, **how: Any) -> dict[str, Any]:
    """Run a command; gives `exit_code`, `cpu_s` and `peak_mib` of a Behaviour. `output`: file for
    what it says. `how`: further arguments of subprocess.run."""
    answer = output.with_suffix(".json")
    argv = [sys.executable, "-I", "-S", str(_MEASURED), str(_HANGS_AFTER_S), str(answer), *command]
    with output.open("wb") as file:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=True, **how)
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def faults(attack: Attack, found: Behaviour) -> list[str]:
    """What is wrong with the behaviour; empty if nothing."""
    wrong = {
        f"exit code {found.exit_code}, not {attack.exit_codes}": found.exit_code
        not in attack.exit_codes,
        "internal error": found.exit_code == ExitCode.INTERNAL or "Traceback" in found.output,
        f"{found.cpu_s:.1f} s of CPU time": found.cpu_s > attack.limit_s,
        f"{found.peak_mib:.0f} MiB": found.peak_mib > MAX_MIB,
        f"left behind: {found.left_behind}": bool(found.left_behind),
        "control characters in the output": any(
            character in found.output for character in "\x1b\x07\x08\x9b"
        ),
        f"the message lacks {attack.says!r}": attack.says not in found.output,
    }
    return [fault for fault, is_so in wrong.items() if is_so]
