"""The classifier's match as the data planes' tables have it: field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sfcperf.workflow.model import Match


def admitted(match: Match) -> list[Match]:
    """Return the matches of all packets that the classifier sends into the chain: the workflow's
    and, if it names ports, one with both ports 0. Data planes see the ports 0 in all fragments but
    the first, and where a packet ends too early. The receiver puts fragments together, so they may
    not go round the chain."""
    if match.source_port is None and match.destination_port is None:
        return [match]
    return [match, replace(match, source_port=0, destination_port=0)]


def match_fields(match: Match, *, reverse: bool) -> Iterator[tuple[str, str | int]]:
    """Return what the match says of `source`, `destination`, `source-port` and `destination-port`,
    without those that it leaves open. With `reverse`, it is the match for replies: source and
    destination are exchanged."""
    source, destination = ("destination", "source") if reverse else ("source", "destination")
    fields: dict[str, str | int | None] = {
        source: match.source,
        destination: match.destination,
        f"{source}-port": match.source_port,
        f"{destination}-port": match.destination_port,
    }
    return ((name, value) for name, value in fields.items() if value is not None)
