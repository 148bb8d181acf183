"""Reads, strictly, what ping of iputils prints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfcperf.active.tool_report import INTEGER, NUMBER, read_lines
from sfcperf.errors import MeasurementError

_REPLY = re.compile(
    r"(?:\[\d+\.\d+\] )?\d+ bytes from .*?: icmp_seq=(\d+) ttl=\d+ time=(\d+(?:\.\d+)?) ms"
    r"(?P<remark> .*)?"
)
_DUPLICATE = "(DUP!)"
_NUMBERS = 2**16
"""Number of different sequence numbers: `icmp_seq` has 16 bits."""
_SENT = {
    "requests": rf"{INTEGER} packets transmitted, {INTEGER} received,.*% packet loss, "
    rf"time {INTEGER}ms"
}
_MORE = {
    "round-trip times": rf"rtt min/avg/max/mdev = {NUMBER}/{NUMBER}/{NUMBER}/{NUMBER} ms.*",
    **{
        kind: rf"\d+ packets transmitted,.* \+{INTEGER} {kind},.*"
        for kind in ("duplicates", "corrupted", "errors")
    },
}
"""Parts of the summary that ping prints only when there is something to count in them."""
_US_PER_MS = 1e3
_MS_PER_S = 1e3


@dataclass(frozen=True)
class PingOutput:
    """What ping reports of one run."""

    transmitted: int
    received: int
    duplicates: int
    corrupted: int
    errors: int
    """ICMP errors received, and sends that the own kernel refused."""
    elapsed_s: float
    """Time from the first request to the last, or to the end of waiting for the last reply."""
    rtt_us: Mapping[int, float]
    """Number of the request, from 1 -> RTT of its first reply. ping prints three significant
    digits: steps of 1 us below 1 ms, of 10 us below 10 ms."""
    rtt_min_us: float
    """Shortest RTT. It and the next two are from ping's summary, in steps of 1 us, and 0 without a
    reply."""
    rtt_mean_us: float
    rtt_max_us: float

    @property
    def loss_ratio(self) -> float:
        """Return the share of the transmitted requests that got no reply."""
        return (self.transmitted - self.received) / self.transmitted

    @property
    def jitter_us(self) -> float | None:
        """Return the mean of |RTT(n) - RTT(n-1)| over replies to successive requests: the packet
        delay variation of RFC 3393 taken on the round trip. None when no two successive requests
        were answered."""
        steps = [
            abs(self.rtt_us[second] - self.rtt_us[first])
            for first, second in pairwise(sorted(self.rtt_us))
            if second == first + 1
        ]
        return sum(steps) / len(steps) if steps else None


def parse(text: str) -> PingOutput:
    """Read the output of `ping -n`. Raises MeasurementError for anything else."""
    if "round-trip min/avg/max" in text:
        raise MeasurementError(
            "this is the output of another ping", hint="install that of iputils: iputils-ping"
        )
    found = read_lines(text, "ping's output", _SENT, _MORE)
    transmitted, received, elapsed_ms = (int(number) for number in found["requests"])
    if transmitted == 0 or received > transmitted:
        raise MeasurementError(f"ping counts {received} replies to {transmitted} requests")
    replies = [reply for line in text.splitlines() if (reply := _REPLY.fullmatch(line))]
    # Otherwise a second reply to one request might pass for the reply to another one.
    if len(replies) != received + sum(found["duplicates"]):
        raise MeasurementError(f"ping counts {received} replies and prints {len(replies)}")
    rtt_us = _rtt_by_request(replies, transmitted)
    if len(rtt_us) != received:
        raise MeasurementError(f"ping counts {received} replies to {len(rtt_us)} requests")
    rtt_ms = found["round-trip times"] if received else [0.0, 0.0, 0.0]
    if not rtt_ms:
        raise MeasurementError("ping's output has no line of round-trip times")
    if not rtt_ms[0] <= rtt_ms[1] <= rtt_ms[2]:
        raise MeasurementError(f"ping gives {rtt_ms[1]} ms as the mean of round-trip times between "
                               f"{rtt_ms[0]} and {rtt_ms[2]} ms")  # fmt: skip
    return PingOutput(
        transmitted,
        received,
        int(sum(found["duplicates"])),
        int(sum(found["corrupted"])),
        int(sum(found["errors"])),
        elapsed_ms / _MS_PER_S,
        rtt_us,
        rtt_min_us=rtt_ms[0] * _US_PER_MS,
        rtt_mean_us=rtt_ms[1] * _US_PER_MS,
        rtt_max_us=rtt_ms[2] * _US_PER_MS,
    )


def _rtt_by_request(replies: Sequence[re.Match[str]], transmitted: int) -> dict[int, float]:
    """Return the RTT of the first reply to each request, us, by the request's number, from 1.
    Requests without a reply are absent.

    Sequence numbers repeat after 65,536 requests, so the number of a reply may belong to several
    requests. Those more than half of this range before the previous reply's request are too old.
    Of the others, the first that has no reply yet gets the reply. Replies that ping marks as
    duplicates are left out. A broadcast address may give more replies than requests: the first
    counts.
    """
    rtt_us: dict[int, float] = {}
    last = 0
    for reply in replies:
        if _DUPLICATE in (reply["remark"] or "") or int(reply[1]) >= _NUMBERS:
            continue
        earliest = last - _NUMBERS // 2
        number = earliest + (int(reply[1]) - earliest) % _NUMBERS
        while number < 1 or number in rtt_us:
            number += _NUMBERS
        if number <= transmitted:
            rtt_us[number] = float(reply[2]) * _US_PER_MS
            last = number
    return rtt_us
