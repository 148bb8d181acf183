"""Run a tool on a host with its output kept, whatever happens to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import strict_json, waiting
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import process_cpu_s

_LINES_SHOWN = 20
_METER_PERIOD_S = 0.05
_METER_SHARE = 0.1
"""Largest share of the time that is spent on reading the CPU time of a tool. It matters on another
machine, where each reading is a command, which takes a while and competes with the test."""


@dataclass(frozen=True)
class ToolOutput:
    """What a tool printed, and how it ended. The same text stays in the files of the trial."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    cpu_ratio: float | None = None
    """CPU time of the tool divided by the time that it ran. None if this was not asked for, or if
    the tool ended before its CPU time was read."""

    def complaint(self) -> str:
        """Return what the tool complained about, for an error message; never empty."""
        return complaint(self.stdout, self.stderr) or f"exit status {self.returncode}, no message"


def run_tool(
    host: Host,
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdout: Path,
    stderr: Path,
    meter_cpu: bool = False,
) -> ToolOutput:
    """Run a tool to its end. Its outputs go straight into files, so that a tool that hangs leaves
    its words too.

    With `meter_cpu`, the tool's CPU time is read on its host every 50 ms, or less often if that
    would take more than a tenth of the time. Raises MeasurementError when the tool cannot start, or
    is ended because timeout_s is over. The caller has to check the exit status.
    """
    for path in (stdout, stderr):
        path.unlink(missing_ok=True)  # hosts append; a retried trial starts afresh
    process = host.spawn(argv, stdout=stdout, stderr=stderr)
    cpu_ratio = None
    deadline = time.monotonic() + timeout_s
    try:
        if meter_cpu:
            cpu_ratio = _cpu_ratio_until_the_end(host, process, deadline)
        returncode = process.wait(max(0, deadline - time.monotonic()))
    except MeasurementError as error:
        raise MeasurementError(
            f"{argv[0]} on {host.name} did not end within {timeout_s:g} s and was stopped",
            where=str(stdout),
            hint="is the chain still forwarding? What the tool printed so far is in that file",
        ) from error
    finally:
        process.stop()
    return ToolOutput(
        tuple(argv),
        returncode,
        stdout.read_text(errors="replace"),
        stderr.read_text(errors="replace"),
        cpu_ratio,
    )


def _cpu_ratio_until_the_end(host: Host, process: Process, deadline: float) -> float | None:
    """Wait until the process ends or the deadline is over. Returns its CPU time by elapsed time at
    the last reading while it ran; None if it ended before the first one."""
    started = time.monotonic()
    ratio = None
    pause_s = _METER_PERIOD_S
    while process.poll() is None and time.monotonic() < deadline:
        waiting.sleep(pause_s)
        asked_s = time.monotonic()
        try:
            cpu_s = process_cpu_s(host.read_text(f"/proc/{process.pid}/stat"))
        except MeasurementError:  # it has just gone
            break
        answered_s = time.monotonic()
        # The kernel was asked somewhere between the two: the middle is the best guess.
        elapsed_s = (asked_s + answered_s) / 2 - started
        pause_s = max(_METER_PERIOD_S, (answered_s - asked_s) / _METER_SHARE)
        # A process that ended meanwhile ran for less than elapsed_s: its ratio would be too low.
        if process.poll() is None:
            ratio = cpu_s / elapsed_s
    return ratio


def complaint(stdout: str, stderr: str) -> str:
    """Return the reason that a failed tool gave, on one line; empty when it gave none.

    The reason is on stderr. A tool that prints JSON on stdout has it in the member `error`.
    """
    try:
        document = strict_json.loads(stdout)
    except ValueError:
        document = None
    reason = str(document["error"]) if isinstance(document, dict) and "error" in document else ""
    return "; ".join(filter(None, (reason, last_lines(stderr))))


def last_lines(text: str) -> str:
    """Return the last lines that a tool printed, joined into one. A line that it repeats is there
    once."""
    lines = dict.fromkeys(line.strip() for line in text.strip().splitlines())
    return "; ".join(list(lines)[-_LINES_SHOWN:])
