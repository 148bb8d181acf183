"""Send marked packets from an endpoint of this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside
from sfcperf.packets.marked import MarkedPacket


def send(namespace: str, interface: str, packets: Iterable[MarkedPacket]) -> None:
    """Send frames out of an interface of a network namespace. Raises MeasurementError."""
    with inside(NETNS_FOLDER / namespace):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with sock:
        try:
            sock.bind((interface, 0))
            for packet in packets:
                sock.send(packet.data)
        except OSError as error:
            raise MeasurementError(
                f"no marked packet leaves by {interface}: {error.strerror}", where=namespace
            ) from error
