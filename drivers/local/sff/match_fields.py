"""The classifier's match as the data planes' tables have it: field by field."""

from __future__ import annotations

from collections.abc import Iterator

from sfcperf.workflow.model import Match


def match_fields(match: Match, *, reverse: bool) -> Iterator[tuple[str, str | int]]:
    """What it says of `source`, `destination`, `source-port` and `destination-port`, in this order;
    replies have source and destination exchanged."""
    source, destination = ("destination", "source") if reverse else ("source", "destination")
    fields: dict[str, str | int | None] = {
        source: match.source,
        destination: match.destination,
        f"{source}-port": match.source_port,
        f"{destination}-port": match.destination_port,
    }
    return ((name, value) for name, value in fields.items() if value is not None)
