"""Connections through a chain, from the client's namespace to the server's, for the proof of
functions that end them (data_planes.Ends)."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from sfcperf.drivers.data_planes import Ends
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Redirection

_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_DATAGRAMS = 3
"""So many datagrams are sent: one may be lost."""
_RST_AT_CLOSE = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which a connection ends at once, and leaves no TIME_WAIT."""
_MOST_BYTES = 65_536


def ends(layout: LocalLayout) -> Ends:
    """Return the ends of this chain."""
    client, server = layout.client, layout.server
    namespaces = layout.namespaces[client.instance], layout.namespaces[server.instance]

    @contextmanager
    def connect(redirection: Redirection, port: int, timeout_s: float) -> Iterator[bool]:
        with ExitStack() as opened:
            kind = _KINDS[redirection.protocol]
            ports = redirection.server_ports or (port,)
            listeners = [
                _listener(opened, namespaces[1], kind, (server.address, each)) for each in ports
            ]
            sender = _socket(opened, namespaces[0], kind)
            # It does not wait; what fails becomes writable, and nothing arrives.
            sender.connect_ex((server.address, port))
            requests = [redirection.request(server.address) for _ in range(_DATAGRAMS)]
            yield _arrives(opened, sender, requests, listeners, timeout_s)

    return Ends(client.address, server.address, connect)


def _arrives(
    opened: ExitStack,
    sender: socket.socket,
    requests: Sequence[bytes],
    listeners: Sequence[socket.socket],
    timeout_s: float,
) -> bool:
    """Send the first request (TCP) or all (UDP) when the sender is connected, and return whether
    any data arrives within this time."""
    deadline = time.monotonic() + timeout_s
    accepting = [each for each in listeners if each.type == socket.SOCK_STREAM]
    readable: list[socket.socket] = list(listeners)
    writable = [sender]
    while (left_s := deadline - time.monotonic()) > 0:
        came, connected, _ = select.select(readable, writable, [], left_s)
        if connected:
            writable.clear()
            # A connection that was refused says so here; then nothing arrives.
            with suppress(OSError):
                for request in requests[: 1 if accepting else None]:
                    sender.send(request)
        for each in came:
            if each in accepting:
                connection, _ = each.accept()
                readable.append(_closed_at_once(opened, connection))
            elif _data(each):
                return True
            elif each not in listeners:
                readable.remove(each)
    return False


def _data(sock: socket.socket) -> bytes:
    """Return what a socket has received; nothing if its connection has ended."""
    try:
        return sock.recv(_MOST_BYTES)
    except OSError:
        return b""


def _listener(
    opened: ExitStack, namespace: str, kind: socket.SocketKind, address: tuple[str, int]
) -> socket.socket:
    """Open a socket that takes connections or datagrams. Raises MeasurementError if its port is
    taken."""
    sock = _socket(opened, namespace, kind)
    with _errors(namespace, *address):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen()
    return sock


def _socket(opened: ExitStack, namespace: str, kind: socket.SocketKind) -> socket.socket:
    """Open a socket in a namespace, which `opened` closes. Raises MeasurementError."""
    with (
        system_errors_as(MeasurementError, "no socket can be opened", where=namespace),
        inside(NETNS_FOLDER / namespace),
    ):
        return _closed_at_once(opened, socket.socket(socket.AF_INET, kind))


def _closed_at_once(opened: ExitStack, sock: socket.socket) -> socket.socket:
    """Return a socket that does not block, and that `opened` closes without anything that stays."""
    opened.enter_context(sock)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_AT_CLOSE)
    return sock


def _errors(namespace: str, address: str, port: int):  # type: ignore[no-untyped-def]
    return system_errors_as(
        MeasurementError, f"{address}, port {port}, cannot be used for the proof", where=namespace
    )
