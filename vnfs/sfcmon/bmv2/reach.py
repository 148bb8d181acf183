"""How this machine reaches P4Runtime and Thrift of a switch: in a namespace, or through SSH.

Neither asks for a password. So nobody but this machine and users of the switch's own machine may
reach them.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.dataplane.nsh import UDP_PORT
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.ssh import SshHost
from sfcperf.vnfs import nftables
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT, Registers

if TYPE_CHECKING:
    from sfcperf.hosts.ssh.forward import Forward

P4RUNTIME_PORT = 9559
"""Port of P4Runtime on a host by SSH, the one that IANA has assigned."""
_TABLE = "sfcperf-bmv2"
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


class Reach(ABC):
    """How a switch on a host is started and reached. `open` comes before its start, and `close`
    after its end."""

    folder: Path
    """Folder of this machine for files of the switch and of the process that controls it."""

    @abstractmethod
    def command(self, binary: Path) -> list[str]:
        """Return the command that starts the switch on its host, without its options. `binary`:
        simple_switch_grpc on this machine."""

    @property
    @abstractmethod
    def server(self) -> str:
        """Where P4Runtime is to listen, for simple_switch_grpc."""

    def open(self) -> None:
        """Prepare the host. Raises MeasurementError; `close` then takes back what was done."""
        return

    @abstractmethod
    def address(self, process: Process) -> str:
        """Return the address of P4Runtime of a switch that runs, for gRPC."""

    @property
    def thrift_socket(self) -> Path | None:
        """Unix socket that leads to Thrift; None: Thrift is at THRIFT_PORT of the switch's network
        namespace."""
        return None

    @abstractmethod
    def listens(self) -> bool:
        """Whether P4Runtime listens. Raises MeasurementError if it cannot be reached."""

    @abstractmethod
    def registers(self) -> Registers:
        """Make a new connection to the registers. Raises MeasurementError."""

    def close(self) -> None:
        """Take back what `open` did. Harmless when called again, or when the host is gone; never
        raises MeasurementError."""
        return


class InNamespace(Reach):
    """In a network namespace of this machine, which must have no address but loopback's: Thrift
    listens at all its addresses. P4Runtime listens at a Unix socket in `folder`. Its address is
    /proc/PID/cwd/NAME instead of the socket's path, which may be longer than the 107 bytes that a
    socket's path may have."""

    def __init__(self, namespace: Path, folder: Path) -> None:
        self._namespace = namespace
        self.folder = folder
        self._socket = f"bmv2-{next(_starts)}.sock"

    def command(self, binary: Path) -> list[str]:
        """See Reach.command."""
        # bmv2 looks into /sys for the state of its interfaces, and `ip netns exec` mounts the
        # namespace's own.
        inside = ["ip", "netns", "exec", self._namespace.name]
        return ["env", f"--chdir={self.folder}", *inside, str(binary)]

    @property
    def server(self) -> str:
        """See Reach.server."""
        return f"unix:{self._socket}"

    def address(self, process: Process) -> str:
        """See Reach.address."""
        return f"unix:/proc/{process.pid}/cwd/{self._socket}"

    def listens(self) -> bool:
        """See Reach.listens."""
        return (self.folder / self._socket).exists()

    def registers(self) -> Registers:
        """See Reach.registers."""
        return Registers(self._namespace)


class BySsh(Reach):
    """On a host by SSH, as its only switch. Both listen at TCP ports. P4Runtime does so at the
    loopback interface, and nftables hides Thrift at the others. Unix sockets of this machine lead
    to both through SSH."""

    def __init__(self, host: SshHost, interfaces: Sequence[str]) -> None:
        self._host = host
        self.folder = Path(tempfile.mkdtemp(prefix="sfcperf-bmv2-"))
        # The kernel would answer datagrams of VXLAN-GPE with "port unreachable".
        drops = [f'iifname "{name}" udp dport {UDP_PORT} drop' for name in interfaces]
        rules = [f'iifname != "lo" tcp dport {THRIFT_PORT} drop', *drops]
        hook = "type filter hook input priority -300; policy accept;"
        body = "\n".join(["chain input {", hook, *rules, "}"])
        self._hidden = nftables.Table(host, _TABLE, body, family="inet")
        self._forwards: list[Forward] = []

    def command(self, binary: Path) -> list[str]:
        """See Reach.command. The host finds the command by its name: in its image, or carried."""
        return [binary.name]

    @property
    def server(self) -> str:
        """See Reach.server."""
        return f"127.0.0.1:{P4RUNTIME_PORT}"

    def open(self) -> None:
        """Hide Thrift, then make the sockets."""
        self._hidden.load()
        for port, socket in ((P4RUNTIME_PORT, self._p4runtime), (THRIFT_PORT, self.thrift_socket)):
            self._forwards.append(self._host.forward(port, socket))

    def address(self, process: Process) -> str:
        """See Reach.address."""
        del process
        return f"unix:{self._p4runtime}"

    @property
    def _p4runtime(self) -> Path:
        return self.folder / "p4runtime"

    @property
    def thrift_socket(self) -> Path:
        """See Reach.thrift_socket."""
        return self.folder / "thrift"

    def listens(self) -> bool:
        """See Reach.listens."""
        return all(forward.answers() for forward in self._forwards)

    def registers(self) -> Registers:
        """See Reach.registers."""
        return Registers(None, socket=self.thrift_socket)

    def close(self) -> None:
        """See Reach.close."""
        for forward in self._forwards:
            forward.close()
        self._hidden.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def reach(host: Host, interfaces: Sequence[str]) -> Reach:
    """Return how a switch at these interfaces of a host is reached. Raises DeploymentError for a
    host where bmv2 cannot run."""
    if isinstance(host, SshHost):
        return BySsh(host, interfaces)
    if isinstance(host, NamespaceHost) and host.namespace is not None:
        return InNamespace(host.namespace, host.workdir)
    raise DeploymentError(
        "bmv2 runs in network namespaces and on machines by SSH alone",
        where=host.name,
        hint='use the driver "local" or "openstack", or the engine "ebpf"',
    )
