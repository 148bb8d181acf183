"""The classifier's match as the data planes' tables have it: field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sfcperf.workflow.model import Match


def admitted(match: Match) -> list[Match]:
    """Return what the classifier sends into the chain: packets that match and, if ports matter,
    those that have none. Data planes see the ports 0 in fragments but the first, and where the
    packet ends too early. The receiver puts fragments together, so they may not go round the
    chain."""
    if match.source_port is None and match.destination_port is None:
        return [match]
    return [match, replace(match, source_port=0, destination_port=0)]


def match_fields(match: Match, *, reverse: bool) -> Iterator[tuple[str, str | int]]:
    """Yield what the match says of `source`, `destination`, `source-port` and `destination-port`,
    in this order; replies have source and destination exchanged."""
    source, destination = ("destination", "source") if reverse else ("source", "destination")
    fields: dict[str, str | int | None] = {
        source: match.source,
        destination: match.destination,
        f"{source}-port": match.source_port,
        f"{destination}-port": match.destination_port,
    }
    return ((name, value) for name, value in fields.items() if value is not None)
