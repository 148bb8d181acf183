"""Run a tool on a host with its output kept, whatever happens to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_LINES_SHOWN = 5


@dataclass(frozen=True)
class ToolOutput:
    """What a tool left; the same text stays in the files of the trial."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def complaint(self) -> str:
        """The last lines of stderr, for an error message."""
        return last_lines(self.stderr) or f"exit status {self.returncode}, nothing on stderr"


def run_tool(
    host: Host, argv: Sequence[str], *, timeout_s: float, stdout: Path, stderr: Path
) -> ToolOutput:
    """Run to the end, outputs straight into files, so that a tool that hangs leaves its words too.

    Raises MeasurementError when it cannot start or is ended because timeout_s is over; the exit
    status is left to the caller.
    """
    for path in (stdout, stderr):
        path.unlink(missing_ok=True)  # hosts append; a retried trial starts afresh
    process = host.spawn(argv, stdout=stdout, stderr=stderr)
    try:
        returncode = process.wait(timeout_s)
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
    )


def last_lines(text: str) -> str:
    """The end of what a tool printed, on one line."""
    return "; ".join(line.strip() for line in text.strip().splitlines()[-_LINES_SHOWN:])
