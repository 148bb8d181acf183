"""What iputils ping prints, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sfcperf.active.tool_report import INTEGER, NUMBER, read_lines
from sfcperf.errors import MeasurementError

_REPLY = re.compile(
    r"^\d+ bytes from .*?: icmp_seq=(\d+) ttl=\d+ time=(\d+(?:\.\d+)?) ms(?P<remark> .*)?$"
)
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
"""Printed only when there are any."""
_US_PER_MS = 1e3
_MS_PER_S = 1e3


@dataclass(frozen=True)
class PingOutput:
    """One run of ping."""

    transmitted: int
    received: int
    duplicates: int
    corrupted: int
    errors: int
    """ICMP errors received, and sends that the own kernel refused."""
    elapsed_s: float
    """From the first request to the last, or to the end of waiting for its reply."""
    rtt_us: Mapping[int, float]
    """Sequence number -> RTT of its first reply. ping prints three significant digits: steps of
    1 us below 1 ms, of 10 us below 10 ms."""
    rtt_min_us: float
    """This and the next two from ping's summary, in steps of 1 us; 0 without a reply."""
    rtt_mean_us: float
    rtt_max_us: float

    @property
    def loss_ratio(self) -> float:
        """Requests without a reply, of those transmitted."""
        return (self.transmitted - self.received) / self.transmitted

    @property
    def jitter_us(self) -> float | None:
        """Mean of |RTT(n) - RTT(n-1)| over replies to successive requests: the packet delay
        variation of RFC 3393 taken on the round trip. None when no two successive requests were
        answered."""
        steps = [
            abs(self.rtt_us[second] - self.rtt_us[first])
            for first, second in pairwise(sorted(self.rtt_us))
            if second == first + 1
        ]
        return sum(steps) / len(steps) if steps else None


def parse(text: str) -> PingOutput:
    """Read the output of `ping -n`. Raises MeasurementError for anything else."""
    found = read_lines(text, "ping's output", _SENT, _MORE)
    transmitted, received, elapsed_ms = (int(number) for number in found["requests"])
    if transmitted == 0 or received > transmitted:
        raise MeasurementError(f"ping counts {received} replies to {transmitted} requests")
    rtt_us = _replies(text.splitlines())
    if len(rtt_us) != received:
        raise MeasurementError(f"ping counts {received} replies and prints {len(rtt_us)}")
    rtt_ms = found["round-trip times"] if received else [0.0, 0.0, 0.0]
    if not rtt_ms:
        raise MeasurementError("ping's output has no line of round-trip times")
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


def _replies(lines: list[str]) -> dict[int, float]:
    rtt_us: dict[int, float] = {}
    for line in lines:
        if reply := _REPLY.match(line):
            rtt_us.setdefault(int(reply[1]), float(reply[2]) * _US_PER_MS)
    return rtt_us
