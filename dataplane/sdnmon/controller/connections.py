"""Connections of os-ken: how many there are, how long they may say nothing, what they may fill."""

from __future__ import annotations

import logging
import resource
import socket
from contextlib import suppress
from typing import Any

from os_ken.controller.controller import Datapath
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER
from os_ken.lib import hub

from sfcperf.rest.idle import IdleConnections

MOST_CONNECTIONS = 1000
"""Each connection has two threads. With few file descriptors fewer are taken: half of the
descriptors may be connections."""
MOST_PORTS = 4096
"""Most ports of a switch: os-ken keeps a description of each."""
_LOOK_S = 0.2
"""How often connections are looked at."""
_LOGGER = logging.getLogger(__name__)


class Connections:
    """The connections of switches that are open. It limits how many there are. Each thread that
    takes one calls `serve`; one thread calls `end_idle`."""

    def __init__(self) -> None:
        self._open: dict[socket.socket, Datapath | None] = {}
        """Connection -> os-ken's object for it; None while that is being made."""
        self._most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    def serve(self, connection: socket.socket, address: Any) -> None:
        """Serve a connection until it ends, and close it. If there are too many, it is closed at
        once. Call this in a thread of its own."""
        try:
            if len(self._open) >= self._most:
                _LOGGER.warning("there are %d connections: no more are taken", self._most)
                return
            self._open[connection] = None
            datapath = self._open[connection] = Datapath(connection, address)
            try:
                datapath.serve()
            finally:
                datapath.close()
        finally:
            self._open.pop(connection, None)
            connection.close()

    def end_idle(self) -> None:
        """Look at the connections for ever. End those that do not say in time which switch they
        are, and those of switches that have too many ports."""
        idle = IdleConnections[socket.socket]()
        while True:
            now = list(self._open.items())
            overdue = idle.overdue(connection for connection, datapath in now if _waits(datapath))
            for connection in [*overdue, *(c for c, datapath in now if _has_too_many(datapath))]:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            hub.sleep(_LOOK_S)


def _waits(datapath: Datapath | None) -> bool:
    """Whether a connection has not said yet which switch it is."""
    return datapath is None or datapath.state not in (MAIN_DISPATCHER, DEAD_DISPATCHER)


def _has_too_many(datapath: Datapath | None) -> bool:
    """Whether a switch has more ports than MOST_PORTS."""
    return datapath is not None and len(datapath._ports or ()) > MOST_PORTS
