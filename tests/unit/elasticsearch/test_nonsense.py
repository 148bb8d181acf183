"""A server that does not answer as Elasticsearch does: a message, and the run waits in the spool.

No real server can be made to answer so, therefore a false one (support.servers).
"""

from __future__ import annotations

import gzip
import itertools
import time
from typing import Any

import pytest
from support.servers.false_elasticsearch import Answer, Asked, FalseElasticsearch, Lie, refused

from sfcperf.elasticsearch import bounds, connection, delivery
from sfcperf.elasticsearch.answers import DeliveryFailed
from sfcperf.elasticsearch.spool import Spool
from sfcperf.elasticsearch.target import target
from sfcperf.elasticsearch.verify import verify
from sfcperf.errors import SfcperfError
from sfcperf.results.store import RunStore

HTML = Answer(b"<html>log in", content_type="text/html")
BOMB = gzip.compress(b" " * 50_000_000)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_TIMEOUT_S", (2.0, 60.0))


def undelivered(store: RunStore, lie: Lie, retry_s: float = 0) -> SfcperfError:
    """What is said about a run that this server does not take."""
    with FalseElasticsearch(lie) as server, pytest.raises(DeliveryFailed) as said:
        delivery.deliver(
            store,
            target([server.url]),
            spool=Spool(),
            progress=lambda *_: None,
            retry_s=retry_s,
            keep=DeliveryFailed,
        )
    [waiting] = Spool().waiting()
    assert str(waiting.file) in said.value.message
    assert said.value.where == server.url
    return said.value


def on(kind: str, answer: Any) -> Lie:
    """A server that answers this to requests of a kind."""

    def lie(asked: Asked) -> Answer | None:
        if asked.kind != kind:
            return None
        return answer(asked) if callable(answer) else answer

    return lie


def every(result: dict[str, Any]) -> Lie:
    """A server that gives this result for every document."""
    return on("_bulk", lambda asked: Answer({"items": [result for _ in asked.documents]}))


FORMS: dict[str, Lie] = {
    "count-is-true": on("_count", Answer({"count": True})),
    "no-count": on("_count", Answer([1])),
    "no-items": on("_bulk", Answer({"errors": False})),
    "items-is-an-object": on("_bulk", Answer({"items": {}})),
    "fewer-items": on("_bulk", Answer({"items": []})),
    "no-status": every({"create": {}}),
    "status-is-text": every({"create": {"status": "201"}}),
    "other-action": every({"delete": {"status": 200}}),
    "item-is-a-number": every(1),  # type: ignore[arg-type]
    "html": on("_bulk", HTML),
    "empty": on("_bulk", Answer(b"")),
    "deep": on("_bulk", Answer(b"[" * 100_000)),
    "many-values": on("_bulk", Answer(b"[" + b"1," * 2_000_000 + b"1]")),
    "template-is-text": on("template GET", Answer({"component_templates": ["x"]})),
    "not-acknowledged": on("template PUT", Answer({"acknowledged": False})),
    "template-html": on("template PUT", HTML),
    "hits-is-text": lambda asked: {
        "_count": Answer({"count": 5}),
        "_search": Answer({"hits": "x"}),
    }.get(asked.kind),
    "hit-without-id": lambda asked: {
        "_count": Answer({"count": 5}),
        "_search": Answer({"hits": {"hits": [{"_index": "x"}]}}),
    }.get(asked.kind),
    "error-500": on("_bulk", Answer({"error": {"reason": "\x1b[31mred\x07\n"}}, status=500)),
    "item-500": every(refused(status=500)),
    "root-cause-is-a-number": on("_bulk", Answer({"error": {"root_cause": 5}}, status=500)),
    "lost": on("_bulk", lambda asked: Answer({"items": [{"create": {"status": 201}}]})),
}


@pytest.mark.parametrize("lie", FORMS.values(), ids=FORMS)
def test_nonsense_is_said_and_the_run_waits(store: RunStore, lie: Lie) -> None:
    error = undelivered(store, lie)
    assert error.message.isprintable()
    assert len(error.message) < 1000


def test_an_error_late_in_the_way_leaves_the_run_in_the_spool(store: RunStore) -> None:
    late = Answer({"error": {"type": "x", "reason": "no more"}}, status=500)
    error = undelivered(store, on("_bulk", lambda asked: late if asked.number > 2 else None))
    assert "no more" in error.message


def test_what_is_compressed_is_not_unpacked(store: RunStore) -> None:
    bomb = on("_bulk", Answer(BOMB, encoding="gzip"))
    assert "compressed" in undelivered(store, bomb).message


def test_an_endless_answer_is_cut(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_BYTES", 1 << 22)

    def endless(_: Asked) -> Answer:
        return Answer(itertools.repeat(b" " * (1 << 20)))

    assert "more than 4 MiB" in undelivered(store, on("_bulk", endless)).message


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_trickle_of_bytes_ends_with_the_timeout(store: RunStore, where: str) -> None:
    """Each byte comes long before a timeout of its own would be over."""

    def trickle(_: Asked) -> Answer:
        return Answer(itertools.repeat(b"x-a: b\r\n"), pause_s=0.1, ends_headers=where == "body")

    before = time.monotonic()
    assert "does not answer" in undelivered(store, on("_bulk", trickle), retry_s=1).message
    assert time.monotonic() - before < 60


def grudging(asked: Asked) -> Answer | None:
    """Takes one document of each request: there is always some progress."""
    if asked.kind == "_search":
        return Answer({"hits": {"hits": []}})
    if asked.kind != "_bulk" or len(asked.documents) < 2:
        return None
    more = [refused() for _ in asked.documents[1:]]
    return Answer({"items": [{"create": {"status": 201}}, *more]})


@pytest.mark.parametrize("lie", [every(refused()), on("_bulk", Answer({}, status=429)), grudging])
def test_patience_ends_however_the_server_refuses(store: RunStore, lie: Lie) -> None:
    before = time.monotonic()
    requests: list[float] = []

    def noted(asked: Asked) -> Answer | None:
        if asked.kind == "_bulk" and asked.stream.endswith("telemetry"):
            requests.append(time.monotonic())
        return lie(asked)

    undelivered(store, noted, retry_s=2)
    assert time.monotonic() - before < 60
    assert len(requests) < 30


def test_pages_without_end_are_not_followed(store: RunStore) -> None:
    page = [{"_id": "x", "_index": "y"}] * 20_000

    def lie(asked: Asked) -> Answer | None:
        if asked.kind in ("_search", "scroll"):
            return Answer({"hits": {"hits": page}, "_scroll_id": "s"})
        return None

    with (
        FalseElasticsearch(lie) as server,
        pytest.raises(DeliveryFailed, match="far more documents"),
    ):
        verify(store, target([server.url]))
