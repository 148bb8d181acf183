"""Servers end connections on which nothing is asked."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from sfcperf.rest.idle import LONGEST_S, SETTLE_S, IdleConnections, most_idle
from sfcperf.rest.server import Server


@given(st.lists(st.tuples(st.sets(st.integers(0, 99)), st.floats(0, 5)), max_size=20))
def test_nobody_waits_too_long_and_few_wait(steps: list[tuple[set[int], float]]) -> None:
    now_s = 0.0
    idle, since = IdleConnections[int](now=lambda: now_s), dict[int, float]()
    for waiting, passed_s in steps:
        now_s += passed_s
        since = {each: since.get(each, now_s) for each in waiting}
        overdue = set(idle.overdue(waiting))
        left = waiting - overdue
        waited_s = {each: now_s - since[each] for each in waiting}
        assert all(waited_s[each] <= LONGEST_S for each in left)
        assert sum(waited_s[each] > SETTLE_S for each in left) <= most_idle()
        assert all(waited_s[each] > SETTLE_S for each in overdue)
        if len(waiting) <= most_idle():
            assert all(waited_s[each] > LONGEST_S for each in overdue)


@contextmanager
def serving(longest_idle_s: float) -> Iterator[int]:
    """The port of a server that ends idle connections after this time."""
    app = FastAPI()

    @app.put("/length")
    async def length(request: Request) -> int:
        with suppress(ClientDisconnect):
            return len(await request.body())
        return -1

    @app.get("/slow")
    async def slow() -> str:
        await asyncio.sleep(1.5)
        return "done"

    ready: Future[None] = Future()
    server = Server(app, lambda: ready.set_result(None), longest_idle_s=longest_idle_s)
    opened = socket.create_server(("127.0.0.1", 0))
    number: int = opened.getsockname()[1]
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([opened])))
    thread.start()
    ready.result(60)
    yield number
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(0.5) as number:
        yield number


HEAD = b"PUT /length HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"


@pytest.mark.parametrize("sent", [b"", b"PUT", HEAD, HEAD + b"\r\n", HEAD + b"\r\n12345678"])
def test_a_connection_without_a_whole_request_is_ended(port: int, sent: bytes) -> None:
    # Where this machine is slow, it may be ended before it was used.
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
        suppress(ConnectionError),
    ):
        connection.sendall(sent)
        assert connection.recv(1) == b""


@pytest.mark.parametrize("sent", [b"", HEAD])
def test_a_connection_that_was_used_is_ended(sent: bytes) -> None:
    with (
        serving(3) as port,
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
    ):
        connection.sendall(HEAD + b"\r\n123456789")
        answer = b""
        while not answer.endswith(b"9"):
            more = connection.recv(1 << 16)
            assert more, "it was ended before it was answered"
            answer += more
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_request_that_takes_long_is_not_ended() -> None:
    with serving(1) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/slow")
        assert connection.getresponse().read() == b'"done"'
        connection.close()


_SMALL = """
import asyncio, resource, socket, sys
from fastapi import FastAPI
from sfcperf.rest.server import Server
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
opened = socket.create_server(("127.0.0.1", 0), backlog=256)
app = FastAPI()
server = Server(app, lambda: print(opened.getsockname()[1], flush=True))
asyncio.run(server.serve([opened]))
"""


def test_who_takes_all_descriptors_keeps_nobody_out_and_floods_no_log() -> None:
    """asyncio reports each connection that it cannot accept with a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        address = ("127.0.0.1", int(process.stdout.readline()))
        idle = [socket.create_connection(address, timeout=60) for _ in range(150)]
        connection = HTTPConnection(*address, timeout=60)
        connection.request("GET", "/openapi.json")
        assert connection.getresponse().status == 200
        for each in (*idle, connection):
            each.close()
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert len(errors.splitlines()) == 1, errors
