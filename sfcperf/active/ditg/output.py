"""Reads, strictly, what ITGDec of D-ITG 2.8.1 prints about a log."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.active.tool_report import INTEGER, NUMBER, read_lines
from sfcperf.errors import MeasurementError

_TOTAL = "TOTAL RESULTS"
_SECONDS = rf" += +{NUMBER} s"
_PACKETS = {"packets": rf"Total packets += +{INTEGER}"}
_LINES = {
    **_PACKETS,
    "time": rf"Total time{_SECONDS}",
    "least delay": rf"Minimum delay{_SECONDS}",
    "largest delay": rf"Maximum delay{_SECONDS}",
    "mean delay": rf"Average delay{_SECONDS}",
    "jitter": rf"Average jitter{_SECONDS}",
    "deviation": rf"Delay standard deviation{_SECONDS}",
    "rate": rf"Average bitrate += +{NUMBER} Kbit/s",
    "dropped": rf"Packets dropped += +{INTEGER} \({NUMBER} %\)",
    "errors": rf"Error lines += +{INTEGER}",
}
_US_PER_S = 1e6
_BPS_PER_KBPS = 1e3


@dataclass(frozen=True)
class DitgOutput:
    """What one log says of a flow, the receiver's log or the sender's. Times are in steps of
    1 us."""

    packets: int
    """Packets in the log: sent, received, or, with the round-trip meter, answered."""
    dropped: int
    """Packets that are missing between the first and the last of the log, by sequence number."""
    delay_us: float
    """Mean one-way delay. With the round-trip meter, this and the following are of the round-trip
    time."""
    delay_min_us: float
    delay_max_us: float
    delay_stdev_us: float
    jitter_us: float
    """Mean absolute difference between the delays of successive packets."""
    rate_bps: float
    """Payload per second, between the first packet and the last."""


def parse(text: str, log: str) -> DitgOutput:
    """Read the totals of ITGDec's report. `log` names the log in errors. Raises MeasurementError
    for anything else, and for a log without packets."""
    _, found, totals = text.partition(_TOTAL)
    if not found:
        raise MeasurementError(f"ITGDec's report of {log} has no totals")
    what = f"ITGDec's report of {log}"
    # Read first, because the other lines of a log without packets have negative times and `-nan`.
    if read_lines(totals, what, _PACKETS)["packets"] == [0]:
        raise MeasurementError(f"{log} has no packet")
    values = {name: numbers[0] for name, numbers in read_lines(totals, what, _LINES).items()}
    if values["errors"]:
        raise MeasurementError(f"{log} is damaged: {values['errors']:.0f} errors")
    return DitgOutput(
        packets=int(values["packets"]),
        dropped=int(values["dropped"]),
        delay_us=values["mean delay"] * _US_PER_S,
        delay_min_us=values["least delay"] * _US_PER_S,
        delay_max_us=values["largest delay"] * _US_PER_S,
        delay_stdev_us=values["deviation"] * _US_PER_S,
        jitter_us=values["jitter"] * _US_PER_S,
        rate_bps=values["rate"] * _BPS_PER_KBPS,
    )
