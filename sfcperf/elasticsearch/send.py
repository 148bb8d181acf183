"""Sender: documents into one data stream, each exactly once.

The id of a document says what it is, and `create` refuses an id that is there (409): sending again
changes nothing. That holds within one backing index. After a rollover the same id could be created
a second time in the new one, so ids are looked up in the whole stream first, where documents of the
run are there already, and wherever an answer got lost and nobody knows what the server did.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from sfcperf import waiting
from sfcperf.elasticsearch import answers
from sfcperf.elasticsearch.connection import AWAY, ServerAway, of_status, with_retries
from sfcperf.elasticsearch.documents import Document
from sfcperf.elasticsearch.inventory import hash_of
from sfcperf.elasticsearch.target import Target
from sfcperf.errors import EnvironmentLacks

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

CHUNK = 1000
"""Largest number of documents in a request: some 500 kB of telemetry."""
CHUNK_BYTES = 10_000_000
THREADS = 3
"""Number of requests at the same time."""


@dataclass
class SendCounts:
    """What became of the documents of one stream."""

    new: int = 0
    changed: int = 0
    """Documents that were there with other content, and were replaced."""
    there: int = 0
    """Documents that were there already, with the same content."""
    repeated: int = 0
    """Number of requests that were sent again."""

    @property
    def total(self) -> int:
        """Number of documents that are on the server now."""
        return self.new + self.changed + self.there


@dataclass
class Sender:
    """Sends the documents of a run to one data stream, each exactly once. Call `send` once."""

    client: Elasticsearch
    target: Target
    stream: str
    """Name of the data stream."""
    retry_s: float
    """How long the documents of one request are sent again before ServerAway is raised, seconds."""
    sent: SendCounts = field(default_factory=SendCounts)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(
        self, documents: Iterable[Document], *, look_up: bool, progress: Callable[[int], None]
    ) -> SendCounts:
        """Send all documents; return what became of them. Only a few chunks are in memory at a
        time.

        `look_up`: documents of the run may be there already, so that ids are looked up first.
        `progress` is called with the number of documents that the server has by now.

        Raises ServerAway when a request was not done within `retry_s`, DeliveryFailed when the
        server fails, EnvironmentLacks when it refuses a document.
        """
        given_up = waiting.Cancellation(
            lambda: EnvironmentLacks("abandoned because another request failed")
        )
        with (
            ThreadPoolExecutor(THREADS, thread_name_prefix="sfcperf-send") as pool,
            waiting.cancelled_by(given_up),
        ):
            running: set[Future[None]] = set()
            try:
                for chunk in _chunks(documents):
                    # In a copy of this context, so that `given_up` cancels the waits of the thread.
                    running.add(pool.submit(copy_context().run, self._chunk, chunk, look_up))
                    if len(running) > THREADS:
                        running = self._settle(running, progress)
                while running:
                    running = self._settle(running, progress)
            except BaseException:
                # Requests that wait for their next attempt give up at once.
                given_up.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return self.sent

    def _settle(
        self, running: set[Future[None]], progress: Callable[[int], None]
    ) -> set[Future[None]]:
        """Wait until a chunk has been sent; return the requests that are still running. Raises the
        error of a chunk that could not be sent."""
        done, still_running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        progress(self.sent.total)
        return still_running

    def _chunk(self, chunk: Sequence[Document], look_up: bool) -> None:
        """Send the documents of one request until all of them are there, or `retry_s` is over. The
        server may take only some of them at a time."""
        attempts = count()

        def attempt() -> None:
            """Send what is left of the chunk. Raises ServerAway if something is left again."""
            nonlocal chunk
            again = next(attempts) > 0
            self._count(repeated=int(again))
            # After a first attempt, ids are looked up: nobody knows what the server did with it.
            chunk = self._attempt(chunk, look_up or again, refresh=again)
            if chunk:
                raise ServerAway("the server is too busy")

        with_retries(self.target, self.retry_s, attempt)

    def _attempt(
        self, chunk: Sequence[Document], look_up: bool, *, refresh: bool
    ) -> list[Document]:
        """Send the documents that are not there, or are there with other content; return those that
        have to be tried again. Without `look_up`, none counts as there. `refresh`: make earlier
        writes visible to the look-up."""
        found: Mapping[str, Mapping[str, Any]] = {}
        if look_up:
            if refresh:
                self.client.indices.refresh(index=self.stream, ignore_unavailable=True)
            found = self._found([document.id for document in chunk])
        missing = [document for document in chunk if document.id not in found]
        others = [d for d in chunk if d.id in found and hash_of(found[d.id]) != d.hash]
        self._count(there=len(chunk) - len(missing) - len(others))
        again = self._bulk(missing, _create, require_data_stream=True)
        return again + self._bulk(others, lambda d: _replace(d, found[d.id]))

    def _found(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return id -> the hit that has it; the one in the first index if there are two, as after a
        rollover. Ids that are not on the server are left out."""
        answer = self.client.search(
            index=self.stream,
            query={"ids": {"values": list(ids)}},
            size=2 * len(ids),
            source=False,
            fields=[{"field": "document.hash"}],
            seq_no_primary_term=True,
            ignore_unavailable=True,
        )
        found = sorted(answers.hits(answer), key=lambda hit: str(hit["_index"]), reverse=True)
        return {hit["_id"]: hit for hit in found}

    def _bulk(
        self,
        documents: Sequence[Document],
        action: Callable[[Document], answers.Action],
        **options: Any,
    ) -> list[Document]:
        """Send one bulk request; return the documents to be tried again, as the server was too busy
        or another client changed them. `action` makes the action of a document. Raises the error of
        `of_status` when the server refuses a document."""
        if not documents:
            return []
        actions = [action(document) for document in documents]
        results = answers.bulk(self.client, actions, index=self.stream, **options)
        counts: Counter[str] = Counter()
        again = []
        refused = None
        for document, (header, _), result in zip(documents, actions, results, strict=True):
            status = result["status"]
            if status in (200, 201):
                counts["new" if "create" in header else "changed"] += 1
            elif status == 409 and "create" in header:
                # The id is there already, so the document is.
                counts["there"] += 1
            elif status in AWAY or status == 409:
                again.append(document)
            else:
                refused = refused or result
        self._count(**counts)
        if refused is not None:
            raise of_status(refused["status"], answers.reason(refused), self.target)
        return again

    def _count(self, **numbers: int) -> None:
        """Add to the counts in `sent`, by their names; possible in any thread."""
        with self._lock:
            for name, number in numbers.items():
                setattr(self.sent, name, getattr(self.sent, name) + number)


def _create(document: Document) -> answers.Action:
    return {"create": {"_id": document.id}}, document.body


def _replace(document: Document, hit: Mapping[str, Any]) -> answers.Action:
    """Return the action that replaces a document in its backing index, unless another client has
    changed it since it was looked up."""
    place = {
        "_index": hit["_index"],
        "_id": hit["_id"],
        "if_seq_no": answers.part(hit, int, "_seq_no"),
        "if_primary_term": answers.part(hit, int, "_primary_term"),
    }
    return {"index": place}, document.body


def _chunks(documents: Iterable[Document]) -> Iterable[list[Document]]:
    """Split documents into requests, by number and also by size: a trial with many samples is long.
    A document that is larger than a request should be is sent alone."""
    source = iter(documents)
    while chunk := list(islice(source, CHUNK)):
        start, size = 0, 0
        for end, document in enumerate(chunk):
            size += len(document.body)
            if size > CHUNK_BYTES and end > start:
                yield chunk[start:end]
                start, size = end, len(document.body)
        yield chunk[start:]
