"""Ledger: compares the records that the functions sent with those that the broker has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sfcperf import retry
from sfcperf.counts import count_text
from sfcperf.management.deployment import ServiceFunction

_CONSISTENT_S = 5.0
_LOOK_S = 0.05


@dataclass(frozen=True)
class Reading:
    """Counts of records in functions and broker at one time."""

    sent: int
    """Records that the functions sent since they were started, and that the broker acknowledged."""
    unconfirmed: int
    """Records that they sent without getting an answer: the broker may or may not have them."""
    ends: Mapping[int, int]
    """Partition of the records' topic -> offset of its next record."""
    consistent: bool
    """Whether nothing was under way between functions and broker, so that the counts belong
    together."""

    @property
    def stored(self) -> int:
        """Records that the broker has."""
        return sum(self.ends.values())


def read(functions: Sequence[ServiceFunction], ends: Callable[[], Mapping[int, int]]) -> Reading:
    """Read the counters of the functions and the ends of the topic. It tries for some seconds to
    find a moment in which nothing is under way; `Reading.consistent` says whether it found one.
    Raises MeasurementError."""
    seen: list[Reading] = []

    def look() -> bool:
        # The counts belong together if no record was sent while the ends were read, and if no
        # record that was made waits to be sent.
        before = [function.counters() for function in functions]
        found = ends()
        after = [function.counters() for function in functions]
        under_way = sum(c["records_made"] - c["records_sent"] - c["records_lost"] for c in after)
        sent = _total(after, "records_sent")
        same = sent == _total(before, "records_sent") and under_way == 0
        unconfirmed = _total(after, "records_lost_unconfirmed")
        seen.append(Reading(sent, unconfirmed, found, same))
        return same

    retry.until(look, timeout_s=_CONSISTENT_S, period_s=_LOOK_S)
    return seen[-1]


def _total(counters: Sequence[Mapping[str, int]], name: str) -> int:
    return sum(each[name] for each in counters)


def difference(begin: Reading, end: Reading) -> str | None:
    """Say what differs between the records that the functions sent and those in the broker, from
    `begin` to `end`. None: all that was sent is there, and nothing else."""
    if not (begin.consistent and end.consistent):
        return (
            "records could not be counted: they were sent without a pause of "
            f"{_LOOK_S:g} s for {_CONSISTENT_S:g} s"
        )
    sent = end.sent - begin.sent
    stored = end.stored - begin.stored
    unconfirmed = end.unconfirmed - begin.unconfirmed
    if sent <= stored <= sent + unconfirmed:
        return None
    return f"the functions sent {count_text(sent, 'record')}, and the broker has {stored}"
