"""A switch with an agent, as far as its OpenFlow channel goes, to provoke what real ones do not do:
answers that are late, wrong, or never come. It speaks OpenFlow 1.3 or later."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from sfcperf.dataplane.sdnmon.controller.messages import Kind
from support.sdnmon import wire

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER = 0, 1, 2, 3, 4
FEATURES_REQUEST, FEATURES_REPLY = 5, 6
MULTIPART_REQUEST, MULTIPART_REPLY, PORT_DESC = 18, 19, 13
Answer = Callable[["StandIn", int, bytes], None]
"""Answers a request: xid and content."""


class StandIn:
    """A switch whose answers a test chooses; others it answers without content."""

    def __init__(
        self,
        address: str,
        datapath_id: int = 1,
        version: int = 4,
        answers: dict[int, Answer] | None = None,
    ) -> None:
        """`answers`: by the type of the request."""
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._version = version
        self._id = datapath_id
        self.answers: dict[int, Answer] = {
            Kind.FEATURES: lambda switch, xid, _: switch.reply(0, xid, wire.features()),
            **(answers or {}),
        }
        self.received: list[tuple[int, int, bytes]] = []
        """Type, xid and content of SDN-Mon's messages."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    # --- what a test lets it send ---

    def send(self, kind: int, xid: int, content: bytes = b"", version: int | None = None) -> None:
        """A message of OpenFlow."""
        head = struct.pack("!BBHI", version or self._version, kind, 8 + len(content), xid)
        self._socket.sendall(head + content)

    def experimenter(self, kind: int, xid: int, content: bytes = b"") -> None:
        """A message of SDN-Mon."""
        self.send(EXPERIMENTER, xid, struct.pack("!II", wire.EXPERIMENTER, kind) + content)

    def reply(self, kind: int, xid: int, content: bytes = b"") -> None:
        """The reply to a request."""
        self.experimenter(kind | 0x8000, xid, content)

    def refuse(self, xid: int, code: int, text: str) -> None:
        """The agent's error."""
        head = struct.pack("!HHI", 0xFFFF, code, wire.EXPERIMENTER)
        self.send(ERROR, xid, head + text.encode())

    def bad_request(self, kind: int, xid: int, content: bytes, code: int = 3) -> None:
        """OFPET_BAD_REQUEST, as of a switch without an agent: with 64 bytes of the request."""
        request = struct.pack("!BBHI", self._version, EXPERIMENTER, 16 + len(content), xid)
        request += struct.pack("!II", wire.EXPERIMENTER, kind) + content
        self.send(ERROR, xid, struct.pack("!HH", 1, code) + request[:64])

    # --- what it does by itself ---

    def _serve(self) -> None:
        with suppress(OSError, EOFError):
            # Without the bitmap of versions: the lower one of both sides is chosen.
            self.send(HELLO, 1)
            while True:
                _, kind, size, xid = struct.unpack("!BBHI", self._read(8))
                self._answer(kind, xid, self._read(size - 8))

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def _answer(self, kind: int, xid: int, content: bytes) -> None:
        if kind == ECHO_REQUEST:
            self.send(ECHO_REPLY, xid, content)
        elif kind == FEATURES_REQUEST:
            self.send(FEATURES_REPLY, xid, struct.pack("!QIBBHII", self._id, 0, 1, 0, 0, 0, 0))
        elif kind == MULTIPART_REQUEST and struct.unpack_from("!H", content)[0] == PORT_DESC:
            self.send(MULTIPART_REPLY, xid, struct.pack("!HHI", PORT_DESC, 0, 0))
        elif kind == EXPERIMENTER:
            experimenter, request = struct.unpack_from("!II", content)
            assert experimenter == wire.EXPERIMENTER
            self.received.append((request, xid, content[8:]))
            answer = self.answers.get(request, lambda switch, x, _: switch.reply(request, x))
            answer(self, xid, content[8:])
