"""Reads, strictly, what tcpdump prints on stderr."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfcperf.errors import MeasurementError

_COUNTS = {
    "captured": re.compile(r"^(\d+) packets? captured$", re.MULTILINE | re.ASCII),
    "received": re.compile(r"^(\d+) packets? received by filter$", re.MULTILINE | re.ASCII),
    "dropped": re.compile(r"^(\d+) packets? dropped by kernel$", re.MULTILINE | re.ASCII),
}
_INTERFACE_DROPS = re.compile(r"^(\d+) packets? dropped by interface$", re.MULTILINE | re.ASCII)
_SO_FAR = re.compile(
    r"^tcpdump: (\d{1,20}) packets? captured, (\d{1,20}) packets? received by filter, "
    r"(\d{1,20}) packets? dropped by kernel",
    re.MULTILINE | re.ASCII,
)


@dataclass(frozen=True)
class TcpdumpOutput:
    """Counts that tcpdump prints of a capture, in packets."""

    captured: int
    """Packets that tcpdump has written."""
    received: int
    """Packets that matched the filter. They are more than `captured` when the capture ended at its
    limit."""
    dropped: int
    """Packets that the capture lost, because the kernel's buffer was full or the interface dropped
    them."""


def listening(text: str) -> bool:
    """Whether tcpdump says that it has opened the interface, so that packets from now on are
    captured."""
    return "listening on " in text


def so_far(text: str) -> list[TcpdumpOutput]:
    """Return the counts that tcpdump printed at each SIGUSR1, in order."""
    return [TcpdumpOutput(*map(int, counts)) for counts in _SO_FAR.findall(text)]


def parse(text: str) -> TcpdumpOutput:
    """Return the counts that tcpdump printed at its end. Raises MeasurementError when it did not
    print them, as when it was killed."""
    counts = {}
    for name, pattern in _COUNTS.items():
        found = pattern.findall(text)
        if len(found) != 1:
            raise MeasurementError(f"tcpdump did not say how many packets were {name}")
        counts[name] = _integer(found[0])
    counts["dropped"] += sum(_integer(count) for count in _INTERFACE_DROPS.findall(text))
    return TcpdumpOutput(**counts)


def _integer(digits: str) -> int:
    """Read a count. Raises MeasurementError for one beyond 64 bits."""
    if len(digits) > 20:
        raise MeasurementError(f"tcpdump counts {digits[:20]}... packets")
    return int(digits)
