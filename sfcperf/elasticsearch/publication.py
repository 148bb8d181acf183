"""Publication: send one run to one cluster, from templates to the final check for duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sfcperf.elasticsearch import inventory, templates
from sfcperf.elasticsearch.answers import DeliveryFailed
from sfcperf.elasticsearch.connection import connect, with_retries
from sfcperf.elasticsearch.documents import Documents
from sfcperf.elasticsearch.mappings import STREAMS, Stream, data_stream
from sfcperf.elasticsearch.send import SendCounts, Sender
from sfcperf.elasticsearch.spool import Spool
from sfcperf.elasticsearch.target import Target
from sfcperf.results.store import RunStore

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

RETRY_S = 30.0
Progress = Callable[[str, int, int], None]
"""Is called with the data stream, the number of its documents that the server has, and the number
of all its documents."""


def send(
    store: RunStore,
    target: Target,
    *,
    retry_s: float = RETRY_S,
    progress: Progress = lambda _stream, _done, _total: None,
) -> Mapping[str, SendCounts]:
    """Send a run; return data stream -> what became of its documents. Sending it again is harmless:
    documents that the server has with the same content are not written again.

    Raises ServerAway when a request had no success for `retry_s`, and DeliveryFailed for other
    faults of the server: the run is not to blame, and can be sent later. Raises EnvironmentLacks
    when the server does not accept what it gets (credentials, privileges, a document), when the
    client library is not installed, or when another process is sending this run. Raises InputError
    when the run folder is damaged or the target's certificates cannot be read.
    """
    documents = Documents(store)
    with Spool().alone(store.folder), connect(target, retry_s) as client:
        with_retries(target, retry_s, lambda: templates.install(client, target.prefix))
        return {
            data_stream(stream, target.prefix): _stream(
                client, target, documents, stream, retry_s, progress
            )
            for stream in STREAMS.values()
        }


def _stream(
    client: Elasticsearch,
    target: Target,
    documents: Documents,
    stream: Stream,
    retry_s: float,
    progress: Progress,
) -> SendCounts:
    """Send the documents of one stream; return what became of them. Raises what `send` raises."""
    name, total = data_stream(stream, target.prefix), documents.count(stream)
    progress(name, 0, total)
    before = with_retries(target, retry_s, lambda: inventory.count(client, name, documents.run_id))
    sender = Sender(client, target, name, retry_s)
    sent = sender.send(
        documents.of(stream),
        look_up=before > 0,
        progress=lambda done: progress(name, done, total),
    )
    with_retries(target, retry_s, lambda: _settle(client, name, documents, stream, total))
    return sent


def _settle(
    client: Elasticsearch, name: str, documents: Documents, stream: Stream, total: int
) -> None:
    """Remove duplicate and outdated documents, and check that none is missing. A document is there
    twice if a rollover came between a request whose answer was lost and its repetition. It is
    outdated if, for example, its summary is no longer made."""
    if inventory.count(client, name, documents.run_id) == total:
        return
    wanted = {document.id for document in documents.of(stream)}
    seen: set[str] = set()
    surplus = []
    found = inventory.entries(client, name, documents.run_id, expected=total)
    # Names of backing indices contain date and number: of two copies, the older one comes first,
    # and stays.
    for entry in sorted(found, key=lambda entry: entry.index):
        # A measured document is only removed as a duplicate; a derived one also when outdated.
        if entry.id in seen or (stream.mutable and entry.id not in wanted):
            surplus.append(entry)
        seen.add(entry.id)
    inventory.remove(client, surplus)
    missing = len(wanted - seen)
    if missing:
        raise DeliveryFailed(
            f"{missing} of {total} documents are not in {name} although the server took them",
            hint="check what deletes them",
        )
