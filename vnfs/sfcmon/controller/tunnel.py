"""The way to a switch on another machine: through SSH, to ports of its loopback interface.

Neither P4Runtime nor Thrift of bmv2 asks for a password, and Thrift has no encryption.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sfcperf.hosts.ssh import SshAccess
from sfcperf.vnfs.sfcmon.controller import model


class Tunnel:
    """Unix sockets that lead to P4Runtime and Thrift of one switch while `open` lasts. For a switch
    without `ssh`, P4Runtime is where the switch says."""

    def __init__(self, switch: model.Switch) -> None:
        self._switch = switch
        self._folder = (
            None
            if switch.ssh is None
            # Only this user may enter it.
            else tempfile.TemporaryDirectory(prefix="sfcperf-switch-", ignore_cleanup_errors=True)
        )

    @property
    def thrift_socket(self) -> Path | None:
        """Socket that leads to Thrift; None: there is no `ssh`."""
        return None if self._folder is None else Path(self._folder.name) / "thrift"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Yield the address of P4Runtime, for gRPC. Raises MeasurementError, DeploymentError or
        InputError if the machine cannot be reached."""
        if self._folder is None or self._switch.ssh is None:
            yield self._switch.p4runtime
            return
        from sfcperf.hosts.ssh.access import connect
        from sfcperf.hosts.ssh.forward import forward

        p4runtime = Path(self._folder.name) / "p4runtime"
        async with await connect(_access(self._switch.ssh)) as connection:
            await forward(connection, model.port_of(self._switch.p4runtime), p4runtime)
            if self._switch.thrift is not None and self.thrift_socket is not None:
                await forward(connection, self._switch.thrift.port, self.thrift_socket)
            yield f"unix:{p4runtime}"

    def remove(self) -> None:
        """Remove the sockets."""
        if self._folder is not None:
            self._folder.cleanup()


def _access(ssh: model.SshLogin) -> SshAccess:
    return SshAccess(ssh.address, Path(ssh.key_file), (ssh.host_key,), ssh.user, ssh.port)
