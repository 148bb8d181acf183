"""What iputils ping prints, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sfcperf.errors import MeasurementError

_REPLY = re.compile(
    r"^\d+ bytes from .*?: icmp_seq=(\d+) ttl=\d+ time=(\d+(?:\.\d+)?) ms(?P<remark> .*)?$"
)
_SENT = re.compile(
    r"^(\d+) packets transmitted, (\d+) received,(?P<extra>.*)% packet loss, time (?P<ms>\d+)ms$"
)
_EXTRA = re.compile(r"\+(\d+) (duplicates|corrupted|errors)")
_RTT = re.compile(r"^rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")
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
    lines = text.splitlines()
    sent = _only(_SENT, lines, "the line `packets transmitted`")
    transmitted, received = int(sent[1]), int(sent[2])
    extras = {kind: int(count) for count, kind in _EXTRA.findall(sent["extra"])}
    if transmitted == 0 or received > transmitted:
        raise MeasurementError(f"ping counts {received} replies to {transmitted} requests")
    rtt_us = _replies(lines)
    if len(rtt_us) != received:
        raise MeasurementError(f"ping counts {received} replies and prints {len(rtt_us)}")
    low, mean, high = 0.0, 0.0, 0.0
    if received:
        rtt = _only(_RTT, lines, "the line `rtt min/avg/max/mdev`")
        low, mean, high = (_number(rtt[place]) * _US_PER_MS for place in (1, 2, 3))
    return PingOutput(
        transmitted,
        received,
        extras.get("duplicates", 0),
        extras.get("corrupted", 0),
        extras.get("errors", 0),
        int(sent["ms"]) / _MS_PER_S,
        rtt_us,
        low,
        mean,
        high,
    )


def _replies(lines: list[str]) -> dict[int, float]:
    rtt_us: dict[int, float] = {}
    for line in lines:
        if reply := _REPLY.match(line):
            rtt_us.setdefault(int(reply[1]), _number(reply[2]) * _US_PER_MS)
    return rtt_us


def _only(pattern: re.Pattern[str], lines: list[str], what: str) -> re.Match[str]:
    found = [match for line in lines if (match := pattern.match(line))]
    if len(found) != 1:
        raise MeasurementError(f"ping's output has {what} {len(found)} times, not once")
    return found[0]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise MeasurementError(f"ping printed {text!r} where a number belongs") from error
