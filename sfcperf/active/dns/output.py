"""Reads, strictly, what dnsperf 2.10 to 2.14 prints about queries by UDP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from sfcperf.active.tool_report import INTEGER, NUMBER, read_lines
from sfcperf.errors import MeasurementError

_WHAT = "dnsperf's report"
_LINES = {
    "sent queries": rf"  Queries sent: +{INTEGER}",
    "completed queries": rf"  Queries completed: +{INTEGER} \({NUMBER}%\)",
    "lost queries": rf"  Queries lost: +{INTEGER} \({NUMBER}%\)",
    "run time": rf"  Run time \(s\): +{NUMBER}",
    "queries per second": rf"  Queries per second: +{NUMBER}",
    "latency": rf"  Average Latency \(s\): +{NUMBER} \(min {NUMBER}, max {NUMBER}\)",
}
_OPTIONAL = {"deviation": rf"  Latency StdDev \(s\): +{NUMBER}"}
"""The line that dnsperf prints only of several completed queries."""
_CODES = re.compile(r"^  Response codes: +(.*)$", re.MULTILINE)
_CODE = re.compile(rf"([A-Za-z0-9]{{1,15}}) {INTEGER} \({NUMBER}%\)", re.ASCII)
_EACH = re.compile(r"^> \S+ \S+ \S+ (\d{1,6}\.\d{6})$", re.MULTILINE | re.ASCII)
_UNEXPECTED = re.compile(r"^Warning: received a response with an unexpected", re.MULTILINE)
_UNSENT = re.compile(r"^Warning: failed to send (?:full )?packet: (.*)$", re.MULTILINE)
_US_PER_S = 1e6
GOOD = "NOERROR"


@dataclass(frozen=True)
class DnsperfOutput:
    """What dnsperf reports of one test. *Completed* is its word for a query that was answered in
    time, whatever the answer."""

    sent: int
    completed: int
    lost: int
    """Queries without an answer within the timeout."""
    codes: Mapping[str, int]
    """Response code (`NOERROR`, RFC 6895) -> answers; without those that did not occur."""
    duration_s: float
    """Time of sending, or to the last answer if that came later, seconds. It does not include the
    wait for answers that never came."""
    completed_per_s: float
    mean_us: float
    """Mean response time, of all answers; 0, as the next two, if there was none. dnsperf prints
    steps of 1 us."""
    min_us: float
    max_us: float
    stdev_us: float | None
    """Standard deviation; None with fewer than two answers."""
    times_us: Sequence[float]
    """Response time of each answer, in the order in which they came; empty if dnsperf was not asked
    to report each query (`-v`)."""

    @property
    def good(self) -> int:
        """Return the answers without an error code."""
        return self.codes.get(GOOD, 0)

    @property
    def queries_per_s(self) -> float:
        """Return the queries per second with an answer without an error code."""
        return self.completed_per_s * self.good / self.completed if self.completed else 0.0

    def percentiles_us(self, percents: Iterable[int]) -> list[float | None]:
        """Return, for each of `percents`, the response time that so many percent of the answers do
        not exceed (nearest rank), us; None if the times are not known one by one."""
        ordered = sorted(self.times_us)
        return [ordered[ceil(p * len(ordered) / 100) - 1] if ordered else None for p in percents]


@dataclass(frozen=True)
class Complaints:
    """What dnsperf complains about while it measures."""

    unexpected: int
    """Answers that it did not wait for: they came after the timeout, or twice."""
    unsent: int
    """Queries that its kernel did not take. dnsperf tells of them only if it reports each query."""
    reason: str
    """The kernel's reason for the last of these; empty if there is none."""


def parse(text: str) -> DnsperfOutput:
    """Read dnsperf's standard output. Raises MeasurementError for anything else."""
    found = read_lines(text, _WHAT, _LINES, _OPTIONAL)
    completed = int(found["completed queries"][0])
    mean_us, min_us, max_us = map(_us, found["latency"])
    times_us = [_us(float(seconds)) for seconds in _EACH.findall(text)]
    if len(times_us) not in (0, completed):
        raise MeasurementError(
            f"{_WHAT} has {len(times_us)} single answers, but counts {completed}"
        )
    if (completed > 1) != bool(found["deviation"]):
        raise MeasurementError(f"{_WHAT} has no deviation of the latency of {completed} queries")
    return DnsperfOutput(
        sent=int(found["sent queries"][0]),
        completed=completed,
        lost=int(found["lost queries"][0]),
        codes=_codes(text, completed),
        duration_s=found["run time"][0],
        completed_per_s=found["queries per second"][0],
        mean_us=mean_us,
        min_us=min_us,
        max_us=max_us,
        stdev_us=_us(found["deviation"][0]) if found["deviation"] else None,
        times_us=times_us,
    )


def parse_complaints(text: str) -> Complaints:
    """Read dnsperf's standard error. Other lines are left out."""
    unsent = _UNSENT.findall(text)
    return Complaints(len(_UNEXPECTED.findall(text)), len(unsent), unsent[-1] if unsent else "")


def _us(seconds: float) -> float:
    """Return microseconds; dnsperf prints whole ones."""
    return float(round(seconds * _US_PER_S))


def _codes(text: str, completed: int) -> dict[str, int]:
    """Return the answers by response code. Raises MeasurementError when these are not all completed
    queries."""
    lines = _CODES.findall(text)
    words = [word for word in lines[0].split(", ") if word] if len(lines) == 1 else []
    matches = [_CODE.fullmatch(word) for word in words]
    codes = {match[1]: int(match[2]) for match in matches if match}
    if len(lines) != 1 or len(codes) != len(words) or sum(codes.values()) != completed:
        raise MeasurementError(
            f"{_WHAT} does not give the response codes of {completed} queries in one line"
        )
    return codes
