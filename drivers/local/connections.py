"""Connections through a chain, from the client's namespace to the server's, for the proof of
functions that end them (data_planes.Ends)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from sfcperf import retry
from sfcperf.drivers.data_planes import Ends
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Redirection

_TYPES = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_REQUESTS = {"tcp": 1, "udp": 3}
"""So many requests are sent: of datagrams, one may be lost."""
_RST_AT_CLOSE = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which a connection ends at once, and leaves no TIME_WAIT."""
_MOST_BYTES = 65_536
_POLL_S = 0.001


def ends(layout: LocalLayout) -> Ends:
    """Return the ends of this chain."""
    client, server = layout.client, layout.server
    clients, servers = (layout.namespaces[end.instance] for end in (client, server))

    @contextmanager
    def connect(redirection: Redirection, port: int, timeout_s: float) -> Iterator[bool]:
        failed = f"{redirection.protocol} port {port} cannot be tried"
        with ExitStack() as opened:
            with system_errors_as(MeasurementError, failed, where=servers):
                listeners = [
                    _listener(opened, servers, _TYPES[redirection.protocol], (server.address, each))
                    for each in redirection.server_ports or (port,)
                ]
            with system_errors_as(MeasurementError, failed, where=clients):
                sender = _socket(opened, clients, _TYPES[redirection.protocol])
            # It does not wait. Where it is refused, nothing arrives.
            sender.connect_ex((server.address, port))
            number = _REQUESTS[redirection.protocol]
            requests = [redirection.request(server.address) for _ in range(number)]
            yield _arrives(opened, sender, requests, listeners, timeout_s)

    return Ends(client.address, server.address, connect)


def _arrives(
    opened: ExitStack,
    sender: socket.socket,
    requests: list[bytes],
    listeners: Sequence[socket.socket],
    timeout_s: float,
) -> bool:
    """Send the requests when the sender is connected, and return whether data reaches a listener,
    or a connection that it accepts, within this time."""
    receivers = [each for each in listeners if each.type == socket.SOCK_DGRAM]
    accepting = [each for each in listeners if each.type == socket.SOCK_STREAM]

    def arrived() -> bool:
        with suppress(OSError):
            while requests:
                sender.send(requests[-1])
                requests.pop()
        for listener in accepting:
            with suppress(BlockingIOError):
                receivers.append(_closed_at_once(opened, listener.accept()[0]))
        return any(map(_received, receivers))

    return retry.until(arrived, timeout_s=timeout_s, period_s=_POLL_S)


def _received(sock: socket.socket) -> bytes:
    """Return what a socket has received: nothing if there is nothing, or its connection has
    ended."""
    with suppress(OSError):
        return sock.recv(_MOST_BYTES)
    return b""


def _listener(
    opened: ExitStack, namespace: str, kind: socket.SocketKind, address: tuple[str, int]
) -> socket.socket:
    """Open a socket that takes connections or datagrams. Raises OSError if its port is taken."""
    sock = _socket(opened, namespace, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address)
    if kind == socket.SOCK_STREAM:
        sock.listen()
    return sock


def _socket(opened: ExitStack, namespace: str, kind: socket.SocketKind) -> socket.socket:
    """Open a socket in a namespace. Raises OSError."""
    with inside(NETNS_FOLDER / namespace):
        return _closed_at_once(opened, socket.socket(socket.AF_INET, kind))


def _closed_at_once(opened: ExitStack, sock: socket.socket) -> socket.socket:
    """Return a socket that does not block, and that `opened` closes without anything that stays."""
    opened.enter_context(sock)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_AT_CLOSE)
    return sock
