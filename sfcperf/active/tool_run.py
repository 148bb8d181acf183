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
"""Of the time that may be spent on looking, where a look takes long: each is a command on another
machine, which has a test to run."""


@dataclass(frozen=True)
class ToolOutput:
    """What a tool left; the same text stays in the files of the trial."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    cpu_ratio: float | None = None
    """CPU time that it used, of the time that it ran, where that was asked for; None also for a
    tool that ended before it was looked at."""

    def complaint(self) -> str:
        """What the tool complained about, for an error message."""
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
    """Run to the end, outputs straight into files, so that a tool that hangs leaves its words too.

    `meter_cpu` looks at its CPU time every 50 ms, on the tool's host, or as often as a tenth of the
    time allows. Raises MeasurementError when
    it cannot start or is ended because timeout_s is over; the exit status is left to the caller.
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
    """CPU time by elapsed time at the last look before the end, or before the deadline."""
    started = time.monotonic()
    ratio = None
    pause_s = _METER_PERIOD_S
    while process.poll() is None and time.monotonic() < deadline:
        waiting.sleep(pause_s)
        begin_s = time.monotonic()
        try:
            cpu_s = process_cpu_s(host.read_text(f"/proc/{process.pid}/stat"))
        except MeasurementError:  # it has just gone
            break
        known = time.monotonic()
        elapsed_s = (begin_s + known) / 2 - started
        pause_s = max(_METER_PERIOD_S, (known - begin_s) / _METER_SHARE)
        if process.poll() is None:  # one that ended meanwhile ran for less than that
            ratio = cpu_s / elapsed_s
    return ratio


def complaint(stdout: str, stderr: str) -> str:
    """What a tool that failed said of it, on one line; empty when it said nothing.

    That is on stderr; a tool that prints JSON has its reason there, in the member `error`.
    """
    try:
        document = strict_json.loads(stdout)
    except ValueError:
        document = None
    reason = str(document["error"]) if isinstance(document, dict) and "error" in document else ""
    return "; ".join(filter(None, (reason, last_lines(stderr))))


def last_lines(text: str) -> str:
    """The end of what a tool printed, on one line; what it repeats is there once."""
    lines = dict.fromkeys(line.strip() for line in text.strip().splitlines())
    return "; ".join(list(lines)[-_LINES_SHOWN:])
