"""Runs uvicorn as a part of a process that has other work too."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from sfcperf.rest.idle import LONGEST_S, IdleConnections

_REQUESTS_END_S = 5
_BACKLOG = 64
"""How many connections may wait to be accepted. asyncio accepts as many in one step, and calls the
exception handler for each of them when the process has no descriptors left."""


class Server(uvicorn.Server):
    """Serves an app, and leaves signals to the process: `should_exit` ends it. It ends connections
    on which no whole request arrives; uvicorn alone does that only after the first request."""

    def __init__(
        self, app: Any, ready: Callable[[], None], *, longest_idle_s: float = LONGEST_S
    ) -> None:
        """`ready` is called when the server answers."""
        super().__init__(
            uvicorn.Config(
                app,
                backlog=_BACKLOG,
                http="h11",  # `_waits` reads fields of this implementation
                ws="none",
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_REQUESTS_END_S,
            )
        )
        self._ready = ready
        self._idle = IdleConnections[tuple[Any, Any]](longest_idle_s)
        self._has_reported_descriptors = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then call `ready`."""
        asyncio.get_running_loop().set_exception_handler(self._report)
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        """End overdue connections. uvicorn calls this ten times a second."""
        connections: set[Any] = self.server_state.connections
        # Each request of a connection has a `cycle` of its own: so waiting begins anew with it.
        waiting = [(each, each.cycle) for each in connections if _waits(each)]
        for connection, _ in self._idle.overdue(waiting):
            connection.transport.abort()
        return await super().on_tick(counter)

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report what failed in the event loop. A lack of descriptors is reported once, in one
        line."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not self._has_reported_descriptors:
            self._has_reported_descriptors = True
            print(f"connections wait: {error.strerror}", file=sys.stderr, flush=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals: they are the process's."""
        yield


def _waits(connection: Any) -> bool:
    """Whether the server waits for this client: no request has begun, or its body is not there
    yet."""
    cycle = connection.cycle
    return cycle is None or cycle.response_complete or bool(cycle.more_body)
