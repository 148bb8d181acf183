"""What a data stream has of a run: counted, or id by id; and the removal of what is too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfcperf.elasticsearch.answers import Action, DeliveryFailed, bulk, hits, part, reason

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

PAGE = 5000
MOST_TIMES = 10
MOST_BESIDES = 100_000
"""A stream may have MOST_TIMES as many documents of a run as the run folder gives, and MOST_BESIDES
more. A server that lists even more is not believed."""
_SCROLL = "5m"


@dataclass(frozen=True)
class Entry:
    """A document on the server."""

    id: str
    index: str
    """Name of the backing index that has it."""
    hash: str
    """Hash of its content; empty in a stream whose documents have none."""


def count(client: Elasticsearch, stream: str, run_id: str) -> int:
    """Count the documents of a run in a stream, including all that was sent so far; 0 if the stream
    does not exist. Raises DeliveryFailed, and what the client raises."""
    # A refresh makes all that was sent visible to searches at once.
    client.indices.refresh(index=stream, ignore_unavailable=True)
    answer = client.count(index=stream, query=_of(run_id), ignore_unavailable=True)
    return part(answer, int, "count")


def entries(
    client: Elasticsearch, stream: str, run_id: str, *, expected: int = 0
) -> Iterator[Entry]:
    """Yield all documents of a run in a stream, as they are at one moment; pages of them are read
    from the server. `expected`: how many documents the run folder gives.

    Raises DeliveryFailed when they are many more than `expected`, and what the client raises.
    """
    client.indices.refresh(index=stream, ignore_unavailable=True)
    answer = client.search(
        index=stream,
        query=_of(run_id),
        source=False,
        fields=[{"field": "document.hash"}],
        size=PAGE,
        sort="_doc",
        scroll=_SCROLL,
        ignore_unavailable=True,
        allow_partial_search_results=False,
    )
    still_allowed = MOST_TIMES * expected + MOST_BESIDES
    try:
        while found := hits(answer):
            still_allowed -= len(found)
            if still_allowed < 0:
                raise DeliveryFailed(
                    f"{stream} has far more documents of this run than it can have"
                )
            yield from (Entry(hit["_id"], hit["_index"], hash_of(hit)) for hit in found)
            answer = client.scroll(scroll_id=part(answer, str, "_scroll_id"), scroll=_SCROLL)
    finally:
        _forget(client, answer)


def hash_of(hit: Mapping[str, Any]) -> str:
    """Return the hash of a hit's content. Empty if the document has none, or if the search did not
    ask for the field `document.hash`."""
    if "fields" not in hit:
        return ""
    found = part(hit, list, "fields", "document.hash")
    return str(found[0]) if found else ""


def remove(client: Elasticsearch, found: Sequence[Entry]) -> None:
    """Delete documents from their backing indices. Raises DeliveryFailed, and what the client
    raises."""
    for begin in range(0, len(found), PAGE):
        actions: list[Action] = [
            ({"delete": {"_index": entry.index, "_id": entry.id}}, None)
            for entry in found[begin : begin + PAGE]
        ]
        for result in bulk(client, actions):
            # 404: it is gone already.
            if result["status"] not in (200, 404):
                raise DeliveryFailed(f"the server does not remove a duplicate: {reason(result)}")


def _forget(client: Elasticsearch, answer: Any) -> None:
    """Tell the server to end a search, which holds resources there. If that fails, the server ends
    it by itself after a while."""
    from elasticsearch import ApiError, TransportError

    with suppress(DeliveryFailed, ApiError, TransportError):
        client.clear_scroll(scroll_id=part(answer, str, "_scroll_id"))


def _of(run_id: str) -> dict[str, Any]:
    """Return the query for the documents of a run."""
    return {"term": {"run.id": run_id}}
