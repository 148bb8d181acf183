"""Connections through a chain, from the client's namespace to the server's, for the proof of
functions that end them (data_planes.Ends)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from sfcperf import retry
from sfcperf.drivers.data_planes import Ends
from sfcperf.drivers.local.layout import LocalLayout
from sfcperf.drivers.local.machine import Machine
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


class Listeners:
    """Sockets in a namespace that take connections (TCP) or datagrams (UDP), until `close`."""

    def __init__(self, namespace: str, protocol: str, addresses: Sequence[tuple[str, int]]) -> None:
        """`addresses`: IPv4 address and port of each. Raises MeasurementError if a port is
        taken."""
        self._opened = ExitStack()
        kind = _TYPES[protocol]
        failed = f"{protocol} ports {', '.join(str(port) for _, port in addresses)} cannot be used"
        try:
            with system_errors_as(MeasurementError, failed, where=namespace):
                sockets = [self._listener(namespace, kind, address) for address in addresses]
        except BaseException:
            self.close()
            raise
        datagrams = kind == socket.SOCK_DGRAM
        self._accepting = [] if datagrams else sockets
        self._receivers = sockets if datagrams else []

    def received(self) -> bool:
        """Accept the connections that wait, and return whether data has come since the last
        call."""
        for listener in self._accepting:
            with suppress(BlockingIOError):
                self._receivers.append(_closed_at_once(self._opened, listener.accept()[0]))
        return any(map(_data, self._receivers))

    def close(self) -> None:
        """Close all sockets, and reset the connections."""
        self._opened.close()

    def _listener(
        self, namespace: str, kind: socket.SocketKind, address: tuple[str, int]
    ) -> socket.socket:
        sock = _socket(self._opened, namespace, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen()
        return sock


class Sender:
    """A socket in a namespace that connects to an address (TCP), or sends datagrams there (UDP),
    until `close`."""

    def __init__(
        self, namespace: str, protocol: str, address: tuple[str, int], requests: Sequence[bytes]
    ) -> None:
        """`requests` are sent by `send`. Raises MeasurementError."""
        self._opened = ExitStack()
        self._requests = list(requests)
        failed = f"{protocol} port {address[1]} cannot be tried"
        with system_errors_as(MeasurementError, failed, where=namespace):
            self._socket = _socket(self._opened, namespace, _TYPES[protocol])
        # It does not wait. Where it is refused, nothing arrives.
        self._socket.connect_ex(address)

    def send(self) -> None:
        """Send the requests that have not been sent, if it is connected by now."""
        with suppress(OSError):
            while self._requests:
                self._socket.send(self._requests[-1])
                self._requests.pop()

    def close(self) -> None:
        """Close the socket, and reset its connection."""
        self._opened.close()


def ends(layout: LocalLayout, machines: Mapping[str, Machine]) -> Ends:
    """Return the ends of this chain. `machines`: node -> the machine that holds it."""
    client, server = layout.client, layout.server
    clients, servers = (layout.namespaces[end.instance] for end in (client, server))

    @contextmanager
    def connect(redirection: Redirection, port: int, timeout_s: float) -> Iterator[bool]:
        protocol = redirection.protocol
        addresses = [(server.address, each) for each in redirection.server_ports or (port,)]
        requests = [redirection.request(server.address) for _ in range(_REQUESTS[protocol])]
        with ExitStack() as opened:
            listeners = machines[server.node].call(Listeners, servers, protocol, addresses)
            opened.callback(listeners.close)
            sender = machines[client.node].call(
                Sender, clients, protocol, (server.address, port), requests
            )
            opened.callback(sender.close)

            def arrived() -> bool:
                sender.send()
                return listeners.received()

            yield retry.until(arrived, timeout_s=timeout_s, period_s=_POLL_S)

    return Ends(client.address, server.address, connect)


def _data(sock: socket.socket) -> bytes:
    """Return what a socket has received: nothing if there is nothing, or its connection has
    ended."""
    with suppress(OSError):
        return sock.recv(_MOST_BYTES)
    return b""


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
