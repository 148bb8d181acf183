"""Reads, strictly, what httperf 0.9 prints at the end of a test (httperf(1), OUTPUT)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf.active.tool_report import INTEGER, NUMBER, read_lines

_LINES = {
    "total": rf"Total: connections {INTEGER} requests {INTEGER} replies {INTEGER} "
    rf"test-duration {NUMBER} s",
    "connection rate": rf"Connection rate: {NUMBER} conn/s \({NUMBER} ms/conn, "
    rf"<={INTEGER} concurrent connections\)",
    "connection lifetime": rf"Connection time \[ms\]: min {NUMBER} avg {NUMBER} max {NUMBER} "
    rf"median {NUMBER} stddev {NUMBER}",
    "connect time": rf"Connection time \[ms\]: connect {NUMBER}",
    "reply time": rf"Reply time \[ms\]: response {NUMBER} transfer {NUMBER}",
    "reply status": rf"Reply status: 1xx={INTEGER} 2xx={INTEGER} 3xx={INTEGER} "
    rf"4xx={INTEGER} 5xx={INTEGER}",
    "CPU time": rf"CPU time \[s\]: user {NUMBER} system {NUMBER} "
    rf"\(user {NUMBER}% system {NUMBER}% total {NUMBER}%\)",
    "errors": rf"Errors: total {INTEGER} client-timo {INTEGER} socket-timo {INTEGER} "
    rf"connrefused {INTEGER} connreset {INTEGER}",
    "own errors": rf"Errors: fd-unavail {INTEGER} addrunavail {INTEGER} ftab-full {INTEGER} "
    rf"other {INTEGER}",
}
_US_PER_MS = 1e3
_DURATION_STEP_S = 1e-3


@dataclass(frozen=True)
class HttperfErrors:
    """Counts of connections or calls that failed, by cause."""

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
        """Return the failures that the client itself caused."""
        return self.files_unavailable + self.addresses_unavailable + self.file_table_full

    @property
    def of_chain(self) -> int:
        """Return the failures that the client did not cause: those of the chain or the server."""
        return max(0, self.total - self.of_client)

    def text(self) -> str:
        """Name the causes of lost requests, such as `timeout 2, reset 1`. Without an error, a
        request was lost because its connection was closed in good order, and the text says so."""
        causes = {
            "timeout": self.client_timeout + self.socket_timeout,
            "refused": self.connection_refused,
            "reset": self.connection_reset,
            "other": self.other,
        }
        named = ", ".join(f"{cause} {count}" for cause, count in causes.items() if count)
        return named or "without an error of a connection"


@dataclass(frozen=True)
class HttperfOutput:
    """What httperf reports of one test."""

    connections: int
    """Connections that httperf opened, or tried to."""
    requests: int
    replies: int
    duration_s: float
    """Time to the last reply, or to the timeout of the last reply that was waited for, in steps of
    1 ms."""
    most_concurrent: int
    connection_max_s: float
    """Lifetime of the connection that lived longest, of those with a reply."""
    connect_us: float
    """Mean time to establish a connection; httperf prints steps of 100 us, here and below."""
    response_us: float
    """Mean time from a request to the first byte of its reply."""
    transfer_us: float
    """Mean time from the first to the last byte of a reply."""
    status: Mapping[str, int]
    """Class of status code (`2xx`) -> replies."""
    client_cpu_ratio: float
    """CPU time of httperf by test duration. It is near 1 whatever the load, because httperf polls
    without sleeping."""
    errors: HttperfErrors

    @property
    def replies_per_s(self) -> float:
        """Return the replies per second over the whole test. httperf's own `Reply rate` is not used
        because it needs tests of 5 s and more. A duration that is printed as 0 counts as one step
        of 1 ms."""
        return self.replies / max(self.duration_s, _DURATION_STEP_S)


def parse(text: str) -> HttperfOutput:
    """Read httperf's output. Raises MeasurementError for anything else."""
    found = read_lines(text, "httperf's output", _LINES)
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
        status={f"{first}xx": int(count) for first, count in enumerate(status, start=1)},
        client_cpu_ratio=found["CPU time"][4] / 100,
        errors=HttperfErrors(*counts),
    )
