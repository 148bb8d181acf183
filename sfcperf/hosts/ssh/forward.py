"""Leads connections to a Unix socket of this machine through SSH to a TCP port of a host.

The port is one of the host's loopback interface, so that the SSH server alone reaches it from
elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.ssh.loop import call, event_loop

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHListener

LOOPBACK = "127.0.0.1"


class Forward:
    """A Unix socket that leads to a TCP port of a host; SshHost makes it. It ends at the latest
    with the connection to the host."""

    def __init__(self, connection: SSHClientConnection, port: int, listener: SSHListener) -> None:
        self._connection = connection
        self._port = port
        self._listener = listener

    def answers(self) -> bool:
        """Whether something listens at the port. Raises MeasurementError if the SSH server does not
        allow the connection, or is gone."""
        return call(listens(self._connection, self._port))

    def close(self) -> None:
        """Take no further connections. Harmless when called again."""
        event_loop().call_soon_threadsafe(self._listener.close)


async def forward(connection: SSHClientConnection, port: int, socket: Path) -> SSHListener:
    """Lead connections to a Unix socket, which is new, to a port of the host at the other end,
    until the listener or the connection is closed. Raises MeasurementError."""
    with system_errors_as(MeasurementError, "this socket cannot be made", where=socket):
        return await connection.forward_local_path_to_port(str(socket), LOOPBACK, port)


async def listens(connection: SSHClientConnection, port: int) -> bool:
    """Whether something listens at a port of the host at the other end. Raises MeasurementError if
    the SSH server does not allow the connection, or is gone."""
    import asyncssh

    try:
        _, writer = await connection.open_connection(LOOPBACK, port)
    except asyncssh.ChannelOpenError as error:
        if error.code == asyncssh.OPEN_CONNECT_FAILED and not connection.is_closed():
            return False
        prohibited = error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
        raise MeasurementError(
            f"no connection to port {port} through SSH: {error.reason}",
            hint="let the SSH server there forward TCP (OpenSSH: AllowTcpForwarding yes)"
            if prohibited
            else None,
        ) from error
    except (asyncssh.Error, OSError) as error:
        raise MeasurementError(f"no connection to port {port} through SSH: {error}") from error
    writer.close()
    return True
