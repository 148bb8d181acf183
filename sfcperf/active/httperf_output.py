"""What httperf 0.9 prints at the end of a test, read strictly (httperf(1), OUTPUT)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf.errors import MeasurementError

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTEGER = r"(\d+)"
_LINES = {
    "total": rf"Total: connections {_INTEGER} requests {_INTEGER} replies {_INTEGER} "
    rf"test-duration {_NUMBER} s",
    "connection rate": rf"Connection rate: {_NUMBER} conn/s \({_NUMBER} ms/conn, "
    rf"<={_INTEGER} concurrent connections\)",
    "connection lifetime": rf"Connection time \[ms\]: min {_NUMBER} avg {_NUMBER} max {_NUMBER} "
    rf"median {_NUMBER} stddev {_NUMBER}",
    "connect time": rf"Connection time \[ms\]: connect {_NUMBER}",
    "reply time": rf"Reply time \[ms\]: response {_NUMBER} transfer {_NUMBER}",
    "reply size": rf"Reply size \[B\]: header {_NUMBER} content {_NUMBER} footer {_NUMBER} "
    rf"\(total {_NUMBER}\)",
    "reply status": rf"Reply status: 1xx={_INTEGER} 2xx={_INTEGER} 3xx={_INTEGER} "
    rf"4xx={_INTEGER} 5xx={_INTEGER}",
    "CPU time": rf"CPU time \[s\]: user {_NUMBER} system {_NUMBER} "
    rf"\(user {_NUMBER}% system {_NUMBER}% total {_NUMBER}%\)",
    "errors": rf"Errors: total {_INTEGER} client-timo {_INTEGER} socket-timo {_INTEGER} "
    rf"connrefused {_INTEGER} connreset {_INTEGER}",
    "own errors": rf"Errors: fd-unavail {_INTEGER} addrunavail {_INTEGER} ftab-full {_INTEGER} "
    rf"other {_INTEGER}",
}
_PATTERNS = {name: re.compile(pattern, re.ASCII) for name, pattern in _LINES.items()}
_US_PER_MS = 1e3
_DURATION_STEP_S = 1e-3
_MOST_DIGITS = 15
"""More than any true figure has, few enough for a float to hold exactly."""


@dataclass(frozen=True)
class HttperfErrors:
    """Connections or calls that failed, by cause."""

    total: int
    client_timeout: int
    """No progress for --timeout seconds."""
    socket_timeout: int
    connection_refused: int
    connection_reset: int
    files_unavailable: int
    """The client had no file descriptor left."""
    addresses_unavailable: int
    """The client had no local port left."""
    file_table_full: int
    other: int

    @property
    def of_client(self) -> int:
        """Those that the client itself caused."""
        return self.files_unavailable + self.addresses_unavailable + self.file_table_full


@dataclass(frozen=True)
class HttperfOutput:
    """One test."""

    connections: int
    """Opened, or tried to."""
    requests: int
    replies: int
    duration_s: float
    """To the last reply, or to the timeout of the last that was waited for; steps of 1 ms."""
    most_concurrent: int
    connection_max_s: float
    """Lifetime of the connection that lived longest, of those with a reply."""
    connect_us: float
    """Mean time to establish a connection; httperf prints steps of 100 us, here and below."""
    response_us: float
    """Mean time from a request to the first byte of its reply."""
    transfer_us: float
    """Mean time from the first to the last byte of a reply."""
    content_bytes: float
    status: Mapping[str, int]
    """Class of status code (`2xx`) -> replies."""
    client_cpu_ratio: float
    """CPU time of httperf by test duration. httperf polls: near 1 whatever the load."""
    errors: HttperfErrors

    @property
    def replies_per_s(self) -> float:
        """Over the whole test: httperf's own `Reply rate` needs tests of 5 s and more. A duration
        that is printed as 0 counts as one step."""
        return self.replies / max(self.duration_s, _DURATION_STEP_S)


def parse(text: str) -> HttperfOutput:
    """Read httperf's output. Raises MeasurementError for anything else."""
    found = {name: _only(name, text.splitlines()) for name in _PATTERNS}
    total, status = found["total"], found["reply status"]
    counts = [int(value) for value in (*found["errors"], *found["own errors"])]
    return HttperfOutput(
        connections=int(total[0]),
        requests=int(total[1]),
        replies=int(total[2]),
        duration_s=total[3],
        most_concurrent=int(found["connection rate"][2]),
        connection_max_s=found["connection lifetime"][2] / 1e3,
        connect_us=found["connect time"][0] * _US_PER_MS,
        response_us=found["reply time"][0] * _US_PER_MS,
        transfer_us=found["reply time"][1] * _US_PER_MS,
        content_bytes=found["reply size"][1],
        status={f"{first}xx": int(count) for first, count in enumerate(status, start=1)},
        client_cpu_ratio=found["CPU time"][4] / 100,
        errors=HttperfErrors(*counts),
    )


def _only(name: str, lines: list[str]) -> list[float]:
    """The numbers of the one line that this pattern describes."""
    found = [match for line in lines if (match := _PATTERNS[name].fullmatch(line))]
    if len(found) != 1:
        raise MeasurementError(f"httperf's output has the line of {name} {len(found)} times")
    if any(len(digits) > _MOST_DIGITS for digits in found[0].groups()):
        raise MeasurementError(f"httperf's output has an impossible number in the line of {name}")
    return [float(digits) for digits in found[0].groups()]
