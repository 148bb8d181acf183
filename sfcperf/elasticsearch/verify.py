"""Verify: whether a cluster has exactly the documents of a run folder, id by id."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfcperf.elasticsearch import inventory
from sfcperf.elasticsearch.connection import connect, with_retries
from sfcperf.elasticsearch.documents import Documents
from sfcperf.elasticsearch.mappings import STREAMS, Stream, data_stream
from sfcperf.elasticsearch.target import Target
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


@dataclass(frozen=True)
class Findings:
    """How the documents of a run in one data stream differ from those of the run folder."""

    stream: str
    expected: int
    """Number of documents that the run folder gives."""
    found: int
    """Number of documents on the server."""
    missing: tuple[str, ...]
    """Ids of documents that are not on the server."""
    extra: tuple[str, ...]
    """Ids that the run folder does not give."""
    twice: tuple[str, ...]
    """Ids that are in several backing indices."""
    changed: tuple[str, ...]
    """Ids whose content is not that of the run folder."""

    @property
    def good(self) -> bool:
        """Whether every document is there once and with its content, and no other is."""
        return not (self.missing or self.extra or self.twice or self.changed)


def verify(store: RunStore, target: Target, *, retry_s: float = 0.0) -> list[Findings]:
    """Compare run folder and cluster, stream by stream. Nothing is changed; only pending writes
    become visible.

    Raises InputError when the folder is damaged, EnvironmentLacks when the server does not answer.
    """
    documents = Documents(store)
    with connect(target, retry_s) as client:
        return [_stream(client, target, documents, stream, retry_s) for stream in STREAMS.values()]


def _stream(
    client: Elasticsearch,
    target: Target,
    documents: Documents,
    stream: Stream,
    retry_s: float,
) -> Findings:
    """Compare the documents of one stream."""
    name = data_stream(stream, target.prefix)
    wanted = {document.id: document.hash for document in documents.of(stream)}
    found = with_retries(
        target,
        retry_s,
        lambda: list(inventory.entries(client, name, documents.run_id, expected=len(wanted))),
    )
    return _compare(name, wanted, found)


def _compare(stream: str, wanted: dict[str, str], found: list[inventory.Entry]) -> Findings:
    """Compare the documents that a run folder gives with those on the server. `wanted`: id -> hash
    of the content."""
    times = Counter(entry.id for entry in found)
    return Findings(
        stream=stream,
        expected=len(wanted),
        found=len(found),
        missing=tuple(id for id in wanted if id not in times),
        extra=tuple(id for id in times if id not in wanted),
        twice=tuple(id for id, number in times.items() if number > 1),
        # An id that is not wanted is extra, not changed. One that is there twice is named once.
        changed=tuple({e.id: None for e in found if wanted.get(e.id, e.hash) != e.hash}),
    )
