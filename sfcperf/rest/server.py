"""uvicorn as a part of a process that has other work too."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

_REQUESTS_END_S = 5


class Server(uvicorn.Server):
    """Serves an app, and leaves signals to the process: `should_exit` ends it."""

    def __init__(self, app: Any, ready: Callable[[], None]) -> None:
        """`ready` is called when it answers."""
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_REQUESTS_END_S,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None of them."""
        yield
