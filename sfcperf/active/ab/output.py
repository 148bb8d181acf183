"""Reads, strictly, what ApacheBench 2.3 prints at the end of a test, and its table of
percentiles."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO

from sfcperf.active.tool_report import INTEGER, MOST_DIGITS, NUMBER, read_lines
from sfcperf.errors import MeasurementError

_LINES = {
    "document length": rf"Document Length: +{INTEGER} bytes",
    "concurrency": rf"Concurrency Level: +{INTEGER}",
    "time": rf"Time taken for tests: +{NUMBER} seconds",
    "complete requests": rf"Complete requests: +{INTEGER}",
    "failed requests": rf"Failed requests: +{INTEGER}",
    "requests per second": rf"Requests per second: +{NUMBER} \[#/sec\] \(mean\)",
    "time per request": rf"Time per request: +{NUMBER} \[ms\] \(mean\)",
}
_OPTIONAL = {
    "causes of failures": rf" +\(Connect: {INTEGER}, Receive: {INTEGER}, Length: {INTEGER}, "
    rf"Exceptions: {INTEGER}\)",
    "write errors": rf"Write errors: +{INTEGER}",
    "other responses": rf"Non-2xx responses: +{INTEGER}",
    "kept connections": rf"Keep-Alive requests: +{INTEGER}",
}
"""Lines that ab prints only when there is something to count in them."""
_HEADER = ["Percentage served", "Time in ms"]
_PERCENTS = [str(percent) for percent in range(101)]
_TIME = re.compile(NUMBER, re.ASCII)
_MANY = 51
"""Least number of requests at which all percentiles in ab's table are right; `parse_percentiles`
says why."""
_US_PER_MS = 1e3


@dataclass(frozen=True)
class AbOutput:
    """What ab reports of one test."""

    requests: int
    """Requests that came to an end, well or badly."""
    concurrency: int
    duration_s: float
    """Length of the test, seconds, in steps of 1 ms."""
    ended_per_s: float
    """Requests per second as ab gives it: all that ended, well or badly, over the exact
    duration."""
    time_per_request_us: float
    """ab's mean, from the client's view: concurrency * duration / requests."""
    document_bytes: int
    """Length of the first reply's body."""
    failed: int
    """Failures: a request could not connect, broke off, or got a reply of another length than the
    first. ab counts a request once for each of its causes, so there may be more failures than
    requests."""
    failures: Mapping[str, int]
    """Cause of failure -> requests; empty without failures."""
    write_errors: int
    not_2xx: int
    """Replies with another status than 2xx."""
    kept: int
    """Requests that left their connection open for the next one."""

    @property
    def good(self) -> int:
        """Return the requests whose reply was the object. When some failed, this is a lower bound,
        since ab may count one request as several failures."""
        return max(0, self.requests - self.failed - self.not_2xx)

    @property
    def requests_per_s(self) -> float:
        """Return the good replies per second."""
        return self.ended_per_s * self.good / self.requests if self.requests else 0.0


def parse(text: str) -> AbOutput:
    """Read ab's report. Raises MeasurementError for anything else."""
    found = read_lines(text, "ab's report", _LINES, _OPTIONAL)
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
            for cause, count in zip(causes, found["causes of failures"], strict=False)
        },
        write_errors=int(sum(found["write errors"])),
        not_2xx=int(sum(found["other responses"])),
        kept=int(sum(found["kept connections"])),
    )


def parse_percentiles(table: str, requests: int = _MANY) -> Mapping[int, float]:
    """Read the CSV table (`-e`) that ab wrote of a test with so many `requests`. The result maps
    percent, from 0 (the fastest request) to 100 (the slowest), to the time from the start of a
    request's connection to the end of its reply, us.

    Raises MeasurementError for anything else, and for percentiles that do not increase.
    """
    try:
        rows = list(csv.reader(StringIO(table), strict=True))
    except csv.Error as error:
        raise MeasurementError(f"ab's table of percentiles cannot be read: {error}") from error
    if rows[:1] != [_HEADER] or [row[:1] for row in rows[1:]] != [[p] for p in _PERCENTS]:
        raise MeasurementError(
            "ab's table of percentiles does not have one row for each of 0 to 100 %"
        )
    times = [row[1] if len(row) == 2 else "" for row in rows[1:]]
    if not all(_TIME.fullmatch(text) and len(text) <= MOST_DIGITS for text in times):
        raise MeasurementError("ab's table of percentiles has a time that is not a number")
    values = [float(text) * _US_PER_MS for text in times]
    # For each percent, ab prints the time of the request at index 0.5 + requests * percent / 100 of
    # its sorted array. With up to 50 requests, the index for 99 % is beyond the end of the array,
    # and ab prints the memory behind it. The slowest time, which is right, replaces such values.
    values = [
        values[-1] if int(0.5 + requests * percent / 100) >= requests else value
        for percent, value in enumerate(values)
    ]
    if values != sorted(values):
        raise MeasurementError("ab's table of percentiles is not increasing")
    return dict(enumerate(values))
