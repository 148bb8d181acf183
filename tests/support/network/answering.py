"""A server that answers in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import TypeVar

Server = TypeVar("Server", bound=BaseServer)
_POLL_S = 0.01
"""How often it looks whether it shall end."""


@contextmanager
def answering(server: Server) -> Iterator[Server]:
    """It answers while the block lasts, and is closed at its end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
