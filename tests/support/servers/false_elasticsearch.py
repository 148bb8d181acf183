"""A server that answers as Elasticsearch does, and where a test says so as no real one can be made
to: nonsense, endlessly, too slowly. It keeps the ids of what it takes, and nothing else."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.network.answering import answering


@dataclass(frozen=True)
class Answer:
    """What a request gets."""

    body: Any = field(default_factory=dict)
    """JSON; bytes as they are; an iterator of bytes is sent until the client has gone."""
    status: int = 200
    content_type: str = "application/vnd.elasticsearch+json;compatible-with=8"
    encoding: str = ""
    """Content-Encoding, of bytes that are so already."""
    pause_s: float = 0
    """Between two parts of an iterator."""
    ends_headers: bool = True
    """Without, the parts of an iterator are more headers."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    kind: str
    """Last part of the path (`_bulk`, `_count`), or `template` and the method."""
    stream: str
    """First part of the path."""
    number: int
    """From 1, of this kind."""
    documents: tuple[str, ...] = ()
    """Ids in a bulk request."""


Lie = Callable[[Asked], Answer | None]
"""Gives the answer to a request; None: as Elasticsearch would."""


def refused(*, status: int = 429, reason: str = "too busy") -> dict[str, Any]:
    """An item of a bulk answer."""
    error = {"type": "es_rejected_execution_exception", "reason": reason}
    return {"create": {"status": status, "error": error}}


@dataclass
class FalseElasticsearch:
    """On a free port of 127.0.0.1 while its `with` block lasts."""

    lie: Lie = lambda _asked: None
    counts: Counter[str] = field(default_factory=Counter)
    """Requests by kind."""
    kept: dict[str, set[str]] = field(default_factory=dict)
    """Stream -> ids."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FalseElasticsearch:
        class Handler(_Handler):
            owner = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._end = ExitStack()
        self._end.enter_context(answering(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        parts = path.partition("?")[0].strip("/").split("/")
        is_template = parts[0] in ("_component_template", "_index_template")
        kind = f"template {method}" if is_template else parts[-1]
        ids = re.findall(rb'^\{"create":\{"_id":"([^"]+)"', body, re.MULTILINE)
        with self._lock:
            self.counts[kind] += 1
            asked = Asked(kind, parts[0], self.counts[kind], tuple(map(bytes.decode, ids)))
            lie = self.lie(asked)
            return self._honest(asked, method) if lie is None else lie

    def _honest(self, asked: Asked, method: str) -> Answer:
        kept = self.kept.setdefault(asked.stream, set())
        match asked.kind:
            case "template GET":
                return Answer({}, status=404)
            case "_count":
                return Answer({"count": len(kept), "_shards": {}})
            case "_search":
                return Answer({"hits": {"hits": []}, "_shards": {}})
            case "_bulk":
                there = [id in kept for id in asked.documents]
                kept.update(asked.documents)
                items = [{"create": {"status": 409 if old else 201}} for old in there]
                return Answer({"errors": any(there), "items": items})
        return Answer({"acknowledged": True}, status=404 if method == "HEAD" else 200)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Else a body waits 40 ms for the acknowledgement of its header."""
    owner: FalseElasticsearch

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self.owner.answer(self.command, self.path, body)
        self.send_response_only(answer.status)
        self.send_header("x-elastic-product", "Elasticsearch")
        self.send_header("content-type", answer.content_type)
        if answer.encoding:
            self.send_header("content-encoding", answer.encoding)
        known = answer.body if isinstance(answer.body, bytes) else None
        if known is None and not hasattr(answer.body, "__next__"):
            known = json.dumps(answer.body).encode()
        if known is not None:
            self.send_header("content-length", str(len(known)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else known)
        else:
            self.close_connection = True
            self.end_headers() if answer.ends_headers else self.flush_headers()
            self._trickle(answer.body, answer.pause_s)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815 - their names

    def _trickle(self, parts: Iterable[bytes], pause_s: float) -> None:
        for part in parts:
            try:
                self.connection.sendall(part, socket.MSG_NOSIGNAL)
            except OSError:
                return
            time.sleep(pause_s)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass
