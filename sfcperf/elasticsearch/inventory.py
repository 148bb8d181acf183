"""What a data stream has of a run: counted, or id by id; and the removal of what is too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

PAGE = 5000


@dataclass(frozen=True)
class Entry:
    """A document on the server."""

    id: str
    index: str
    """Backing index."""
    hash: str
    """Of its content; empty where the stream has none."""


def count(client: Elasticsearch, stream: str, run_id: str) -> int:
    """Documents of a run in a stream, everything sent so far included; 0 without the stream."""
    client.indices.refresh(index=stream, ignore_unavailable=True)
    answer = client.count(index=stream, query=_of(run_id), ignore_unavailable=True)
    return int(answer["count"])


def entries(client: Elasticsearch, stream: str, run_id: str) -> Iterator[Entry]:
    """All of them, a page at a time, as of one moment."""
    from elasticsearch.helpers import scan

    client.indices.refresh(index=stream, ignore_unavailable=True)
    hits = scan(
        client,
        index=stream,
        query={"query": _of(run_id), "_source": False, "fields": ["document.hash"]},
        size=PAGE,
        ignore_unavailable=True,
    )
    for hit in hits:
        yield Entry(hit["_id"], hit["_index"], hash_of(hit))


def hash_of(hit: Mapping[str, Any]) -> str:
    """Of a hit's content, when `document.hash` was among the fields asked for; else empty."""
    return str(hit.get("fields", {}).get("document.hash", [""])[0])


def remove(client: Elasticsearch, found: Sequence[Entry]) -> None:
    """Delete documents from their backing indices. Raises ApiError, BulkIndexError."""
    from elasticsearch.helpers import bulk

    actions: Iterator[dict[str, Any]] = (
        {"_op_type": "delete", "_index": entry.index, "_id": entry.id} for entry in found
    )
    bulk(client, actions, ignore_status=404)


def _of(run_id: str) -> dict[str, Any]:
    return {"term": {"run.id": run_id}}
