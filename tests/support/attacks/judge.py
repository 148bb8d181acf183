"""Runs SFCPerf on a hostile input, in a process with a private TMPDIR and state folder."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from sfcperf.errors import ExitCode
from support.attacks import Attack

MAX_MIB = 512
_HANGS_AFTER_S = 60
"""Above every limit of CPU time: only an input that blocks takes so long."""


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
    """Files in TMPDIR and in the state folder afterwards."""


def behaviour(attack: Attack, folder: Path) -> Behaviour:
    """Runs the attack. `folder`: empty, the caller's."""
    inputs, temporary, state = (folder / name for name in ("inputs", "tmp", "state"))
    for each in (inputs, temporary, state):
        each.mkdir()
    arguments = _made(attack, inputs)
    environment = {**os.environ, "TMPDIR": str(temporary), "SFCPERF_STATE_DIR": str(state)}
    command = [str(Path(sys.executable).with_name("sfcperf")), *arguments]
    with (folder / "output").open("w+b") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=inputs,
            env=environment,
        )
        timer = Timer(_HANGS_AFTER_S, process.kill)
        timer.start()
        # Unlike Popen.wait, this gives the resources that this child alone used.
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode(errors="replace")
    left = [path for place in (temporary, state) for path in sorted(place.rglob("*"))]
    return Behaviour(
        exit_code=process.returncode,
        output=said,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_mib=used.ru_maxrss / 1024,
        left_behind=tuple(str(path.relative_to(folder)) for path in left),
    )


def _made(attack: Attack, folder: Path) -> list[str]:
    """The attack's arguments. Made in another process: what it takes in memory would count as that
    of the process which is measured (getrusage(2): exec keeps the largest resident size)."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put(attack.make(folder)))
    process.start()
    process.join()
    assert process.exitcode == 0, f"{attack} could not be made"
    arguments: list[str] = queue.get()
    return arguments


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
