"""Proxy: stands before the APIs of a cloud and breaks what its rules say; the rest passes.

Each origin (host and port) of the cloud has a port of the proxy. Addresses of the cloud in answers
(the catalogue, links of version documents, `Location`) become the proxy's, so that a client that
has authenticated here never meets an API itself.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Coroutine, Iterable, Iterator, Set
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Self

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from support.faulty_cloud import breaking
from support.faulty_cloud.catalogue import Service, origin_of
from support.faulty_cloud.faults import (
    Answer,
    Delay,
    Fault,
    Garble,
    HangUp,
    Straggle,
    Truncate,
    has_reached,
)
from support.faulty_cloud.rules import Request, Rule, Script

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}
"""RFC 9110, section 7.6.1."""
NOT_FOR_API = HOP_BY_HOP | {"host", "content-length", "accept-encoding"}
NOT_FOR_CLIENT = HOP_BY_HOP | {"content-length", "date", "server"}
TEXT = re.compile(r"text/|application/(.+\+)?json")
Headers = CIMultiDict[str] | CIMultiDictProxy[str]


class Proxy:
    """For endpoints (type and URL), while its `with` block lasts, in a thread of its own."""

    def __init__(self, endpoints: Iterable[tuple[str, str]]) -> None:
        by_origin: dict[str, list[tuple[str, str]]] = {}
        for kind, url in endpoints:
            by_origin.setdefault(origin_of(url), []).append((kind, url))
        self._services = {origin: Service(each) for origin, each in by_origin.items()}
        self._sockets = {origin: socket.create_server(("127.0.0.1", 0)) for origin in by_origin}
        self._script = Script()
        self._stragglers: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faulty cloud")

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def rewritten(self, text: str) -> str:
        """With the proxy's addresses in place of the cloud's."""
        for origin, ours in self._origins.items():
            text = re.sub(re.escape(origin) + r"(?!\d)", ours, text)
        return text

    @contextmanager
    def failing(self, *rules: Rule) -> Iterator[Script]:
        """These rules are in force while the block lasts."""
        before, self._script = self._script, Script(rules)
        try:
            yield self._script
        finally:
            self._script = before

    @property
    def _origins(self) -> dict[str, str]:
        return {
            origin: "http://{}:{}".format(*listener.getsockname())
            for origin, listener in self._sockets.items()
        }

    def _do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        done: Future[None] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        done.result()

    async def _open(self) -> None:
        self._client = ClientSession(
            timeout=ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        self._closing = asyncio.Event()
        self._runners = [await self._listen(origin) for origin in self._sockets]

    async def _close(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        self._closing.set()
        await asyncio.gather(*self._stragglers)
        await self._client.close()

    async def _listen(self, origin: str) -> web.AppRunner:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(origin, request)

        application = web.Application(client_max_size=2**30)
        application.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.SockSite(runner, self._sockets[origin]).start()
        return runner

    async def _handle(self, origin: str, incoming: web.Request) -> web.StreamResponse:
        path = incoming.raw_path.partition("?")[0]
        service = self._services[origin].of(path)
        fault = self._script.fault_of(Request(service, incoming.method, path))
        body = await incoming.read()
        if isinstance(fault, Delay):
            await asyncio.sleep(fault.seconds)
        answer = None
        if fault is None or has_reached(fault):
            answer = await self._ask(origin, incoming, body)
        if isinstance(fault, Straggle):
            self._stragglers.append(
                asyncio.create_task(self._ask_late(fault.seconds, origin, incoming, body))
            )
        told = _told(fault, answer)
        if told is None:
            return breaking.hang_up(incoming)
        if isinstance(fault, Truncate):
            return await breaking.truncated(incoming, told)
        return told

    async def _ask(self, origin: str, incoming: web.Request, body: bytes) -> web.Response | None:
        """The API's own answer, with the proxy's addresses; None when there is none."""
        try:
            async with self._client.request(
                incoming.method,
                URL(origin + incoming.raw_path, encoded=True),
                headers=_without(incoming.headers, NOT_FOR_API),
                data=body or None,
                allow_redirects=False,
            ) as answer:
                return self._passed_on(answer.status, answer.headers, await answer.read())
        except (ClientError, OSError):
            return None

    async def _ask_late(
        self, seconds: float, origin: str, incoming: web.Request, body: bytes
    ) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)
        await self._ask(origin, incoming, body)

    def _passed_on(self, status: int, headers: Headers, body: bytes) -> web.Response:
        kept = _without(headers, NOT_FOR_CLIENT)
        if "Location" in kept:
            kept["Location"] = self.rewritten(kept["Location"])
        if TEXT.match(kept.get("Content-Type", "")):
            body = self.rewritten(body.decode()).encode()
        return web.Response(status=status, headers=kept, body=body)


def _told(fault: Fault | None, answer: web.Response | None) -> web.Response | None:
    """What the client is answered; None: nothing."""
    match fault:
        case HangUp() | Straggle():
            return None
        case Answer():
            return breaking.error(fault)
        case Garble() if answer is not None:
            return breaking.garbled(answer)
        case _:
            return answer


def _without(headers: Headers, names: Set[str]) -> CIMultiDict[str]:
    return CIMultiDict(
        (name, value) for name, value in headers.items() if name.lower() not in names
    )
