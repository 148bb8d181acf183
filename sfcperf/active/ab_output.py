"""What ApacheBench 2.3 prints at the end of a test, and its table of percentiles, read strictly."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from sfcperf.errors import MeasurementError

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTEGER = r"(\d+)"
_LINES = {
    "document length": rf"Document Length: +{_INTEGER} bytes",
    "concurrency": rf"Concurrency Level: +{_INTEGER}",
    "time": rf"Time taken for tests: +{_NUMBER} seconds",
    "complete requests": rf"Complete requests: +{_INTEGER}",
    "failed requests": rf"Failed requests: +{_INTEGER}",
    "requests per second": rf"Requests per second: +{_NUMBER} \[#/sec\] \(mean\)",
    "time per request": rf"Time per request: +{_NUMBER} \[ms\] \(mean\)",
}
_OPTIONAL = {
    "causes of failures": rf" +\(Connect: {_INTEGER}, Receive: {_INTEGER}, Length: {_INTEGER}, "
    rf"Exceptions: {_INTEGER}\)",
    "write errors": rf"Write errors: +{_INTEGER}",
    "other responses": rf"Non-2xx responses: +{_INTEGER}",
    "kept connections": rf"Keep-Alive requests: +{_INTEGER}",
}
"""Printed only when there were any."""
_PATTERNS = {name: re.compile(pattern, re.ASCII) for name, pattern in (_LINES | _OPTIONAL).items()}
_HEADER = ["Percentage served", "Time in ms"]
_PERCENTS = [str(percent) for percent in range(101)]
_TIME = re.compile(_NUMBER, re.ASCII)
_US_PER_MS = 1e3
_MOST_DIGITS = 15
"""More than any true figure has, few enough for a float to hold exactly."""


@dataclass(frozen=True)
class AbOutput:
    """One test."""

    requests: int
    """That came to an end, well or badly."""
    concurrency: int
    duration_s: float
    """In steps of 1 ms."""
    ended_per_s: float
    """Requests per second as ab gives it: of all that ended, over the exact duration."""
    time_per_request_us: float
    """ab's mean, from the client's view: concurrency * duration / requests."""
    document_bytes: int
    """Length of the first reply's body."""
    failed: int
    """Could not connect, broke off, or came back with another length than the first; ab counts a
    request once for each of its causes, so that these may be more than there were requests."""
    failures: Mapping[str, int]
    """Cause of failure -> requests; empty without failures."""
    write_errors: int
    not_2xx: int
    """Replies with another status than 2xx."""
    kept: int
    """Requests that left their connection open for the next one."""

    @property
    def good(self) -> int:
        """Requests whose reply was the object; at least so many, when some failed."""
        return max(0, self.requests - self.failed - self.not_2xx)

    @property
    def requests_per_s(self) -> float:
        """Good replies per second."""
        return self.ended_per_s * self.good / self.requests if self.requests else 0.0


def parse(text: str) -> AbOutput:
    """Read ab's report. Raises MeasurementError for anything else."""
    lines = text.splitlines()
    found = {name: _only(name, lines) for name in _LINES}
    more = {name: _at_most_one(name, lines) for name in _OPTIONAL}
    causes = ("connect", "receive", "length", "exceptions")
    return AbOutput(
        requests=int(found["complete requests"][0]),
        concurrency=int(found["concurrency"][0]),
        duration_s=found["time"][0],
        ended_per_s=found["requests per second"][0],
        time_per_request_us=found["time per request"][0] * _US_PER_MS,
        document_bytes=int(found["document length"][0]),
        failed=int(found["failed requests"][0]),
        failures={
            cause: int(count)
            for cause, count in zip(causes, more["causes of failures"], strict=False)
        },
        write_errors=_count(more["write errors"]),
        not_2xx=_count(more["other responses"]),
        kept=_count(more["kept connections"]),
    )


def parse_percentiles(table: str) -> Mapping[int, float]:
    """ab's CSV (`-e`): percent, from 0 (the fastest request) to 100 (the slowest) -> time from the
    start of a request's connection to the end of its reply, us.

    Raises MeasurementError for anything else, and for times that become shorter.
    """
    try:
        rows = list(csv.reader(StringIO(table), strict=True))
    except csv.Error as error:
        raise MeasurementError(f"ab's table of percentiles cannot be read: {error}") from error
    if rows[:1] != [_HEADER] or [row[:1] for row in rows[1:]] != [[p] for p in _PERCENTS]:
        raise MeasurementError("ab's table of percentiles has not one row for each of 0 to 100 %")
    times = [row[1] if len(row) == 2 else "" for row in rows[1:]]
    if not all(_TIME.fullmatch(text) and len(text) <= _MOST_DIGITS for text in times):
        raise MeasurementError("ab's table of percentiles has a time that is not a number")
    values = [float(text) * _US_PER_MS for text in times]
    if values != sorted(values):
        raise MeasurementError("ab's table of percentiles does not rise")
    return dict(enumerate(values))


def _only(name: str, lines: Sequence[str]) -> list[float]:
    """The numbers of the one line that this pattern describes."""
    found = _matches(name, lines)
    if len(found) != 1:
        raise MeasurementError(f"ab's report has the line of {name} {len(found)} times")
    return found[0]


def _at_most_one(name: str, lines: Sequence[str]) -> list[float]:
    found = _matches(name, lines)
    if len(found) > 1:
        raise MeasurementError(f"ab's report has the line of {name} {len(found)} times")
    return found[0] if found else []


def _matches(name: str, lines: Sequence[str]) -> list[list[float]]:
    found = [match for line in lines if (match := _PATTERNS[name].fullmatch(line))]
    if any(len(digits) > _MOST_DIGITS for match in found for digits in match.groups()):
        raise MeasurementError(f"ab's report has an impossible number in the line of {name}")
    return [[float(digits) for digits in match.groups()] for match in found]


def _count(numbers: Sequence[float]) -> int:
    return int(numbers[0]) if numbers else 0
