"""Unix sockets of this machine that lead through SSH to ports of hosts: OpenSSH with sudo, and
dropbear behind a jump host."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer
from support.network.wires import eventually

from sfcperf.errors import MeasurementError
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside
from sfcperf.hosts.ssh import SshHost
from sfcperf.hosts.ssh.forward import LOOPBACK

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
]

PORT = 9090


@dataclass
class Machine:
    host: SshHost
    namespace: Path

    @contextmanager
    def echo(self) -> Iterator[None]:
        """Something listens at the loopback interface of the machine, and returns what it gets."""
        with inside(self.namespace):
            listener = socket.create_server((LOOPBACK, PORT))
        thread = threading.Thread(target=_echo, args=(listener,))
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            listener.close()


def _echo(listener: socket.socket) -> None:
    """Serve one connection after the other, until the listener is shut down."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)


@pytest.fixture(scope="module", params=["sudo", "jump"])
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    with ExitStack() as stack:
        if request.param == "sudo":
            folder = tmp_path_factory.mktemp("guest")
            server = stack.enter_context(ssh_servers.openssh(folder, user=ssh_servers.LOGIN))
            yield _machine(server, stack)
        else:
            folder = tmp_path_factory.mktemp("jump")
            jump = stack.enter_context(ssh_servers.openssh(folder))
            folder = tmp_path_factory.mktemp("guest")
            server = stack.enter_context(ssh_servers.dropbear(folder, behind=jump))
            yield _machine(server, stack, _machine(jump, stack).host)


def _machine(server: SshServer, stack: ExitStack, jump: SshHost | None = None) -> Machine:
    workdir = Path(f"/tmp/forward-{os.getpid()}-{server.namespace}")
    stack.callback(shutil.rmtree, workdir, ignore_errors=True)
    host = SshHost("guest", server.access, workdir, jump)
    stack.callback(host.close)
    host.wait_reachable(20)
    return Machine(host, NETNS_FOLDER / server.namespace)


def connected(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(20)
    made.connect(str(path))
    return made


def test_a_socket_leads_to_the_port(machine: Machine, tmp_path: Path) -> None:
    """While commands run on the host; until it is closed."""
    path = tmp_path / "socket"
    forward = machine.host.forward(PORT, path)
    assert not forward.answers()
    with connected(path) as nobody:
        assert nobody.recv(1) == b""
    sent = os.urandom(1 << 20)
    with machine.echo():
        assert forward.answers()
        with connected(path) as connection:
            thread = threading.Thread(target=connection.sendall, args=(sent,))
            thread.start()
            received = b""
            while len(received) < len(sent):
                received += connection.recv(1 << 16)
                if len(received) < 1 << 17:
                    assert machine.host.run(["echo", "x"], timeout_s=20).text == "x\n"
            thread.join()
    assert received == sent
    for _ in range(2):
        forward.close()
    assert eventually(lambda: refused(path))


def refused(path: Path) -> bool:
    """Whether nobody takes connections to a socket."""
    try:
        connected(path).close()
    except OSError:
        return True
    return False


def test_it_ends_with_the_connection_to_the_host(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    forward = machine.host.forward(PORT, path)
    machine.host.close()
    assert eventually(lambda: refused(path))
    with pytest.raises(MeasurementError, match=f"no connection to port {PORT} through SSH"):
        forward.answers()
    forward.close()
    assert machine.host.forward(PORT, path).answers() is False


def test_a_socket_that_cannot_be_made_is_told(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "none" / "socket"
    with pytest.raises(MeasurementError, match=f"{path}: this socket cannot be made: No such file"):
        machine.host.forward(PORT, path)


def test_a_server_that_does_not_forward_is_told(tmp_path: Path) -> None:
    (tmp_path / "guest").mkdir()
    with (
        ExitStack() as stack,
        ssh_servers.openssh(tmp_path / "guest", forwarding=False) as server,
    ):
        forward = _machine(server, stack).host.forward(PORT, tmp_path / "socket")
        with pytest.raises(MeasurementError, match=r"port 9090 through SSH.*AllowTcpForwarding"):
            forward.answers()
