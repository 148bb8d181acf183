"""Reads, strictly, what sfc-pktgen prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from sfcperf import strict_json
from sfcperf.errors import MeasurementError

_UNBELIEVABLE = 2**64
_NS_PER_US = 1e3
_NS_PER_S = 1e9


@dataclass(frozen=True)
class SenderReport:
    """What the sender did in one run."""

    packets: int
    """Packets that the interface took."""
    skipped: int
    """Packets that were due while the sender was held up, and were not sent later either."""
    refused: int
    """Packets that the interface did not take. Only the engine `packet` counts them; the engine
    `xdp` does not learn of them."""
    complete: bool
    """Whether the sender ran to the end of its time."""
    waited_s: float | None = None
    """How long the sender was ready to run but had no CPU, seconds; None: its kernel does not
    tell."""
    elapsed_s: float = 0.0
    """Time from the first packet to the last."""


@dataclass(frozen=True)
class ReceiverReport:
    """What the receiver counted of one run."""

    mode: str
    """How its XDP program is attached: `native` or `generic`."""
    packets: int
    """Packets that arrived, duplicates included."""
    duplicated: int
    reordered: int
    """Packets that arrived after a later one of their flow (RFC 4737, section 3.3)."""
    unjudged: int
    """Packets that came so late that it is not known whether they are duplicates. They do not count
    as duplicates."""
    warmup: int
    """Packets of the warm-up, which count in none of the others."""
    latencies: tuple[tuple[int, int, int], ...] = ()
    """Histogram of the one-way latency, without duplicates. Each bucket that is not empty has its
    least and its largest latency [ns] and its number of packets; buckets are in order."""
    arrivals: tuple[int, ...] = ()
    """Packets, without duplicates, by time of arrival. The time for which the sender sends, counted
    from the first arrival, is divided into equal parts. Each number is the packets of one part;
    behind them is one more number, the packets that came later."""

    @property
    def unique(self) -> int:
        """Return the number of packets that arrived, each counted once."""
        return self.packets - self.duplicated

    def latency_us(self, quantile: Fraction) -> float:
        """Return a quantile of the latency by nearest rank, microseconds: the share `quantile` of
        the packets (0 to 1) have at most this latency. It is given as the middle of its bucket,
        which is at most 0.4 % from the true value. Raises MeasurementError if no packet arrived."""
        rank, seen = ceil(quantile * self.unique), 0
        for least, most, packets in self.latencies:
            seen += packets
            if seen >= rank and seen:
                return (least + most) / 2 / _NS_PER_US
        raise MeasurementError("no packet arrived, so that there is no latency")


def parse_sent(text: str) -> SenderReport:
    """Read the last line that the role `send` printed. Raises MeasurementError for anything
    else."""
    return _sent(_document(text, "sent"))


def parse_received(text: str) -> ReceiverReport:
    """Read the last line that the role `receive` printed. Raises MeasurementError for anything
    else."""
    return _received(_document(text, "received"))


def parse_calibration(text: str) -> tuple[SenderReport, ReceiverReport]:
    """Read the line that the role `calibrate` printed. Raises MeasurementError for anything
    else."""
    return _sent(_document(text, "sent")), _received(_document(text, "received"))


def _document(text: str, member: str) -> Any:
    """Return a member of the JSON object on the last line of a text. Raises MeasurementError."""
    lines = text.splitlines()
    try:
        document = strict_json.loads(lines[-1] if lines else "")
    except ValueError as error:
        raise MeasurementError(f"sfc-pktgen's report is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get(member), dict):
        raise MeasurementError(f"sfc-pktgen's report has no {member!r}")
    return document[member]


def _sent(member: Any) -> SenderReport:
    """Read the member `sent`. The tool counts packets that the interface refused among `packets`;
    SenderReport does not. Raises MeasurementError."""
    made, refused = _count(member, "packets"), _count(member, "refused")
    if refused > made or not isinstance(member.get("complete"), bool):
        raise MeasurementError("sfc-pktgen's report of what it sent contradicts itself")
    waited_ns = None if member.get("waited_ns") is None else _count(member, "waited_ns")
    return SenderReport(
        made - refused,
        _count(member, "skipped"),
        refused,
        member["complete"],
        None if waited_ns is None else waited_ns / _NS_PER_S,
        _count(member, "elapsed_ns") / _NS_PER_S,
    )


def _received(member: Any) -> ReceiverReport:
    """Read the member `received`, and check that its distributions (latencies and arrivals) contain
    each packet once. The report of a receiver that still counts has no distributions. Raises
    MeasurementError."""
    if member.get("mode") not in ("native", "generic"):
        raise MeasurementError("sfc-pktgen's report does not say how the receiver is attached")
    received = ReceiverReport(
        mode=member["mode"],
        packets=_count(member, "packets"),
        duplicated=_count(member, "duplicated"),
        reordered=_count(member, "reordered"),
        unjudged=_count(member, "unjudged"),
        warmup=_count(member, "warmup"),
        latencies=_latencies(member.get("latency_ns", [])),
        arrivals=tuple(_counts(member.get("arrivals", []))),
    )
    latencies = sum(packets for _, _, packets in received.latencies)
    if received.duplicated > received.packets:
        raise MeasurementError("sfc-pktgen's report has more duplicates than packets")
    if "latency_ns" in member and not (
        received.unique == latencies == sum(received.arrivals) and received.arrivals
    ):
        raise MeasurementError("sfc-pktgen's distributions do not contain each packet once")
    return received


def _latencies(rows: Any) -> tuple[tuple[int, int, int], ...]:
    """Read the buckets of the histogram, which must be in order and must not overlap. Raises
    MeasurementError."""
    buckets = []
    before = -1
    # None is no list of counts: `_counts` raises.
    for row in rows if isinstance(rows, list) else [None]:
        values = _counts(row)
        if len(values) != 3 or not before < values[0] <= values[1]:
            raise MeasurementError("sfc-pktgen's histogram of latencies is damaged")
        before = values[1]
        buckets.append((values[0], values[1], values[2]))
    return tuple(buckets)


def _count(member: Any, key: str) -> int:
    """Return a count of a member of the report. Raises MeasurementError."""
    return _counts([member.get(key)], key)[0]


def _counts(values: Any, what: str = "a list") -> Sequence[int]:
    """Check that a list has only counts, whole numbers from 0 to 64 bits, and return it. `what`
    names it in the error. Raises MeasurementError."""
    if not isinstance(values, list) or not all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UNBELIEVABLE
        for value in values
    ):
        raise MeasurementError(f"sfc-pktgen's report has no counts at {what!r}")
    return values
