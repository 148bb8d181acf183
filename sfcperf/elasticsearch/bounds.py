"""Bounds of what a server answers, in bytes and in time.

The client library reads an answer to its end, however long that takes, and unpacks what is
compressed.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

from elastic_transport import NodeConfig, Urllib3HttpNode
from elasticsearch.serializer import JsonSerializer

from sfcperf import strict_json
from sfcperf.elasticsearch.answers import DeliveryFailed

MAX_BYTES = 1 << 26
"""Largest size of an answer; a page of ids has 1 MiB."""
MAX_VALUES = 1_000_000
"""Largest number of values in the JSON of an answer; a page of ids has 50,000."""


class BoundedNode(Urllib3HttpNode):
    """The library's connection to a node, on which every answer ends: its last byte comes within
    the timeout of the request, and it is not compressed, since we do not ask for that."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)

        # The pool makes its connections of this class, and they make their answers of _Response.
        class Connection(self.pool.ConnectionCls):  # type: ignore[name-defined,misc]
            response_class = _Response

        self.pool.ConnectionCls = Connection


class _Response(http.client.HTTPResponse):
    """An answer that is read through _BoundedBody. Raises DeliveryFailed if it is compressed:
    decompressing could give far more bytes than are counted."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        # All bytes of the answer are read from `fp`.
        self.fp = io.BufferedReader(_BoundedBody(self.fp.detach(), sock))

    def begin(self) -> None:
        super().begin()
        if self.headers.get("content-encoding", "identity") != "identity":
            raise DeliveryFailed("the server's answer is compressed, which was not asked for")


class _BoundedBody(io.RawIOBase):
    """Reads the bytes of one answer, and raises when they are too many or come too late."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._socket = sock
        self._left = MAX_BYTES
        # A socket of the client always has a timeout: that of the request.
        self._end_s = time.monotonic() + (sock.gettimeout() or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read like RawIOBase. Raises TimeoutError, DeliveryFailed."""
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the answer did not end in time")
        self._socket.settimeout(left_s)
        count = self._raw.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise DeliveryFailed(f"the server's answer has more than {MAX_BYTES >> 20} MiB")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class BoundedJson(JsonSerializer):
    """The library's JSON parser, which refuses JSON that is too deep, or too large for the
    memory."""

    def json_loads(self, data: bytes) -> Any:
        """Parse JSON. Raises ValueError also for too many values or too deep ones: the library then
        takes the answer for one that is not JSON."""
        return strict_json.loads(data, max_values=MAX_VALUES)
