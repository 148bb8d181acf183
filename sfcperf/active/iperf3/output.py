"""Reads the JSON report of iperf3, strictly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import MeasurementError

_BITS_PER_BYTE = 8
_US_PER_MS = 1e3
_MS_PER_S = 1e3
_SHORTEST_S = 1e-3
_SHOWN = 200
"""Most characters of the output that a message quotes."""
_UNBELIEVABLE = 2**64
"""Limit of all numbers in a report: no counter of iperf3 reaches it."""


@dataclass(frozen=True)
class Iperf3Output:
    """What iperf3 reports of one test, client to server."""

    sent_bps: float
    """Payload per second that the client handed to its kernel."""
    sent_s: float
    """Time for which the client sent."""
    received_bps: float
    """Payload per second that the server's application received: goodput."""
    received_each_bps: tuple[float, ...]
    """Goodput in each interval of the report (one second), in order. A last interval that is
    shorter than half of the first is left out."""
    retransmits: int | None
    """TCP segments that the client sent again; None for UDP."""
    datagrams: UdpOutput | None
    """What the report says of datagrams; None for TCP."""
    sender_cpu_percent: float
    receiver_cpu_percent: float
    congestion: str | None
    """Congestion control of the sender; None for UDP."""
    version: str
    receive_buffer_bytes: int
    """Size of the buffer of the server's socket as the kernel counts it, which includes the
    kernel's own overhead."""


@dataclass(frozen=True)
class UdpOutput:
    """Counts of the datagrams of a UDP test, as the receiver tells them from sequence numbers."""

    sent: int
    received: int
    lost: int
    """Datagrams that are missing before the last one received."""
    omitted: int
    """Datagrams received in the seconds at the start that do not count."""
    received_per_s: float
    jitter_us: float
    """Interarrival jitter of RFC 3550 (section 6.4.1, as iperf3 smoothes it) at the end."""
    unread: int = 0
    """Datagrams of `unseen` that the server's kernel received. iperf3 does not know them;
    `residual.Arrivals` counts them."""

    @property
    def total(self) -> int:
        """Return the number of datagrams that are accounted for: received, lost or unseen."""
        return self.received + self.lost + self.unseen

    @property
    def missing(self) -> int:
        """Return the number of datagrams that did not reach the server's kernel."""
        return self.lost + self.unseen - self.unread

    @property
    def unseen(self) -> int:
        """Return the number of datagrams sent after the last one received. They were lost at the
        very end, or still unread when the server heard that the test was over: iperf3 does not read
        on, and without any loss, 1 % of a second at full rate were seen to remain.
        `residual.Arrivals` tells the two kinds apart."""
        return max(0, self.sent - self.received - self.lost)


class _Report:
    """A JSON document whose members are read by path. A member that is absent or of another type
    than asked for raises MeasurementError."""

    def __init__(self, document: Any) -> None:
        self._document = document

    def get(self, *path: str | int) -> Any:
        """Return the member at a path: names in objects, places in lists."""
        value = self._document
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError) as error:
                raise MeasurementError(f"iperf3's report has no {_pointer(path)}") from error
        return value

    def number(self, *path: str | int) -> float:
        """Return the number at a path, which must be from 0 to 64 bits."""
        value = self.get(*path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MeasurementError(f"iperf3's report has no number at {_pointer(path)}")
        if not 0 <= value < _UNBELIEVABLE:  # not a number fails as well
            raise MeasurementError(f"iperf3 reports {value} at {_pointer(path)}")
        return value

    def text(self, *path: str | int) -> str:
        value = self.get(*path)
        if not isinstance(value, str):
            raise MeasurementError(f"iperf3's report has no text at {_pointer(path)}")
        return value

    def rows(self, *path: str | int) -> list[_Report]:
        value = self.get(*path)
        if not isinstance(value, list):
            raise MeasurementError(f"iperf3's report has no list at {_pointer(path)}")
        return [_Report(row) for row in value]


def parse(text: str) -> Iperf3Output:
    """Read what `iperf3 --json --get-server-output` printed, the server running with --json too.

    A report that is printed twice (some releases do) counts once. Raises MeasurementError for
    anything else, and with iperf3's own words when it failed.
    """
    document = _document(text)
    if isinstance(document, dict) and "error" in document:
        raise MeasurementError(f"iperf3 failed: {document['error']}")
    report = _Report(document)
    udp = report.text("start", "test_start", "protocol") == "UDP"
    received_bytes, received_s = _total(report, "sum_received")
    sent_bytes, sent_s = _total(report, "sum_sent")
    return Iperf3Output(
        sent_bps=sent_bytes * _BITS_PER_BYTE / sent_s,
        sent_s=sent_s,
        received_bps=received_bytes * _BITS_PER_BYTE / received_s,
        received_each_bps=_each_bps(report),
        retransmits=None if udp else int(report.number("end", "sum_sent", "retransmits")),
        datagrams=_udp(report) if udp else None,
        sender_cpu_percent=report.number("end", "cpu_utilization_percent", "host_total"),
        receiver_cpu_percent=report.number("end", "cpu_utilization_percent", "remote_total"),
        congestion=None if udp else report.text("end", "sender_tcp_congestion"),
        version=report.text("start", "version"),
        receive_buffer_bytes=int(report.number("server_output_json", "start", "rcvbuf_actual")),
    )


def _document(text: str) -> Any:
    """Parse the JSON document that iperf3 printed, once or twice in the same words. Raises
    MeasurementError for anything else."""
    lines = text.strip().split("\n")
    half = len(lines) // 2
    if lines[:half] == lines[half:]:
        lines = lines[:half]
    printed = "\n".join(lines)
    try:
        return strict_json.loads(printed)
    except ValueError as error:
        raise MeasurementError(f"iperf3's report {_problem(printed, error)}") from error


def _problem(printed: str, error: ValueError) -> str:
    """Say why the output is not one JSON document, and quote the text that is in the way."""
    begin, end = printed.find("{"), printed.rfind("}") + 1
    if begin != 0:
        complaint = printed if begin < 0 else printed[:begin]
        return f"has other text before it: {complaint.strip()[:_SHOWN]!r}"
    if end < len(printed):
        try:
            strict_json.loads(printed[:end])
        except ValueError:
            return "is cut off"
        return f"has other text behind it: {printed[end:].strip()[:_SHOWN]!r}"
    if isinstance(error, JSONDecodeError):
        line = printed.split("\n")[printed.count("\n", 0, error.pos)]
        return f"is not JSON: {error.msg} in {line.strip()[:_SHOWN]!r}"
    return f"is not JSON: {error}"


def _total(report: _Report, side: str) -> tuple[float, float]:
    """Return the bytes and seconds of the sum `side` (`sum_sent` or `sum_received`)."""
    seconds = report.number("end", side, "seconds")
    if seconds < _SHORTEST_S:
        raise MeasurementError(f"iperf3 measured for {seconds:g} seconds")
    return report.number("end", side, "bytes"), seconds


def _sums(report: _Report, *, omitted: bool = False) -> list[_Report]:
    """Return the server's sums over all streams, one for each interval that counts; with `omitted`,
    one for each interval at the start that does not count. Losses are added up from these sums,
    because in iperf 3.12 the totals of UDP loss also count datagrams of the omitted seconds."""
    intervals = report.rows("server_output_json", "intervals")
    sums = [_Report(interval.get("sum")) for interval in intervals]
    return [row for row in sums if row.get("omitted") is omitted]


def _each_bps(report: _Report) -> tuple[float, ...]:
    """Return the goodput of each interval, without a last one that is shorter than half of the
    first."""
    each = [(row.number("seconds"), row.number("bytes")) for row in _sums(report)]
    shortest_s = max(_SHORTEST_S, each[0][0] / 2) if each else 0.0
    return tuple(size * _BITS_PER_BYTE / s for s, size in each if s >= shortest_s)


def _udp(report: _Report) -> UdpOutput:
    """Read what the report says of datagrams. Raises MeasurementError when the server received
    none."""
    counted = _sums(report)
    received, lost = _received_and_lost(counted)
    seconds = sum(row.number("seconds") for row in counted)
    if received <= 0 or seconds < _SHORTEST_S:
        raise MeasurementError("the server received none of iperf3's datagrams")
    jitter_ms = report.number("end", "sum_received", "jitter_ms")
    if jitter_ms > seconds * _MS_PER_S:
        raise MeasurementError(f"iperf3 reports a jitter of {jitter_ms:g} ms within {seconds:g} s")
    return UdpOutput(
        sent=int(report.number("end", "sum_sent", "packets")),
        received=received,
        lost=lost,
        omitted=_received_and_lost(_sums(report, omitted=True))[0],
        received_per_s=received / seconds,
        jitter_us=jitter_ms * _US_PER_MS,
    )


def _received_and_lost(rows: Sequence[_Report]) -> tuple[int, int]:
    """Return how many datagrams were received and lost in these intervals together. A datagram that
    comes late is first counted as lost, and given back as a negative loss in the interval in which
    it comes, so only the sum over all intervals has a meaning."""
    # `packets` of an interval are those received and those lost.
    expected = int(sum(row.number("packets") for row in rows))
    lost = max(0, int(sum(_lost(row) for row in rows)))
    return expected - lost, lost


def _lost(row: _Report) -> float:
    """Return the lost datagrams of an interval; negative if more came late than were lost. iperf
    3.12 prints a negative number as an unsigned one, rounded to 1.8446744073709552e+19. Its
    percentage still has the sign, and the number is computed from that."""
    if row.get("lost_packets") == float(_UNBELIEVABLE) and row.get("packets"):
        share = row.get("lost_percent")
        if isinstance(share, float) and -_UNBELIEVABLE < share < 0:
            return round(share / 100 * row.number("packets"))
    return _signed(row, "lost_packets")


def _signed(row: _Report, key: str) -> float:
    """Return a whole number that may be negative, which `_Report.number` refuses."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _UNBELIEVABLE:
        raise MeasurementError(f"iperf3's report has no whole number at {key}")
    return value


def _pointer(path: Sequence[str | int]) -> str:
    """Return a path as errors show it: `/end/sum_sent`."""
    return "/" + "/".join(map(str, path))
