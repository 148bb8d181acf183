"""Hosts by SSH on bad days: connections that break, machines that are other ones, interruptions."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer, new_key
from support.network.wires import eventually

from sfcperf import waiting
from sfcperf.errors import DeploymentError, InputError, MeasurementError
from sfcperf.hosts.base import ConversationOver
from sfcperf.hosts.ssh import SshHost, Unreachable, guest
from sfcperf.hosts.ssh.pins import scan

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
]


@pytest.fixture(
    scope="module", params=["sudo", pytest.param("dropbear", marks=pytest.mark.exhaustive)]
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SshServer]:
    """Shared: each test ends what it starts there."""
    folder = tmp_path_factory.mktemp("guest")
    if request.param == "dropbear":
        with ssh_servers.dropbear(folder) as made:
            yield made
    else:
        with ssh_servers.openssh(folder, user=ssh_servers.LOGIN) as made:
            yield made


@pytest.fixture
def workdir(tmp_path: Path) -> Iterator[Path]:
    yield Path(f"/tmp/losses-{tmp_path.name}-{os.getpid()}")
    subprocess.run(["rm", "-rf", f"/tmp/losses-{tmp_path.name}-{os.getpid()}"], check=True)


@pytest.fixture
def host(server: SshServer, workdir: Path) -> Iterator[SshHost]:
    made = SshHost("guest", server.access, workdir)
    made.wait_reachable(20)
    yield made
    made.close()


def sleepers(server: SshServer) -> list[str]:
    """Processes that a test started; those of the guard sleep for other times."""
    return [line for line in server.processes() if "4321" in line and "start" not in line]


STUBBORN = 'trap "" TERM HUP INT; sleep 4321 & setsid sleep 4321 & echo ready; wait; sleep 4321'


def start_sleepers(host: SshHost, out: Path) -> object:
    """A process that ignores signals, a child, and one in another session."""
    process = host.spawn(["sh", "-c", STUBBORN], stdout=out, stderr=out.with_suffix(".err"))
    assert eventually(lambda: out.read_text() == "ready\n", 30)
    return process


def test_closing_leaves_nothing_running(host: SshHost, server: SshServer, tmp_path: Path) -> None:
    start_sleepers(host, tmp_path / "out")
    assert len(sleepers(server)) >= 2
    host.close()
    assert eventually(lambda: not server.processes(), 30)
    # It can be used again; of the connections that are closed, no files are left.
    left = host.run(["sh", "-c", 'ls -A "$0"', str(host.workdir)], timeout_s=10).text
    assert len(left.split()) <= 2


def test_a_folder_that_is_gone_leaves_nothing_running(
    host: SshHost, server: SshServer, tmp_path: Path
) -> None:
    """Somebody cleaned up while we were connected."""
    start_sleepers(host, tmp_path / "out")
    host.run(["rm", "-rf", str(host.workdir)], timeout_s=20)
    host.close()
    assert eventually(lambda: not server.processes(), 30)


def test_a_guard_that_ends_at_once_leaves_nothing_running(
    workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has a watcher: that has not begun yet."""
    setsid = tmp_path / "setsid"
    late = 'while kill -0 $PPID 2>/dev/null; do sleep 0.05; done; exec setsid "$@"'
    setsid.write_text(f"#!/bin/sh\nPATH={guest.FOLDERS}\n{late}\n")
    setsid.chmod(0o755)
    monkeypatch.setattr(guest, "FOLDERS", f"{tmp_path}:{guest.FOLDERS}")
    running, inherited = os.pipe()
    argv = ["/bin/sh", "-c", guest.guard(workdir, "0123456789abcdef")]
    guard = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[inherited]
    )
    os.close(inherited)
    guard.communicate(b"bye\n", timeout=20)
    with os.fdopen(running, "rb") as pipe:
        # Its end is read when nobody has the other one any more.
        assert select.select([pipe], [], [], 20)[0]
        assert pipe.read() == b""


def test_a_broken_connection_leaves_nothing_running(
    host: SshHost, server: SshServer, tmp_path: Path
) -> None:
    process = start_sleepers(host, tmp_path / "out")
    server.cut_connections()
    assert eventually(lambda: process.poll() is not None, 30)
    assert process.poll() == process.wait(1) == process.stop() == -signal.SIGKILL
    process.send_signal(signal.SIGTERM)
    assert (tmp_path / "out.err").read_text().endswith("connection to guest was lost\n")
    assert eventually(lambda: not sleepers(server), 30)
    assert host.run(["echo", "again"], timeout_s=20).text == "again\n"
    assert host.read_text("/proc/sys/kernel/ostype") == "Linux\n"


def test_a_command_that_ran_is_reported_as_lost(
    host: SshHost, server: SshServer, tmp_path: Path
) -> None:
    threading.Timer(1.0, server.cut_connections).start()
    with pytest.raises(MeasurementError, match=r"connection to guest was lost while sleep ran"):
        host.run(["sleep", "4321"], timeout_s=30)
    assert eventually(lambda: not sleepers(server), 30)


@pytest.mark.exhaustive
def test_no_command_runs_twice_and_none_is_forgotten(host: SshHost, server: SshServer) -> None:
    """Connections are cut at any moment, also between the sending of a command and its answer."""
    host.run(["mkdir", "-p", str(host.workdir)], timeout_s=20)
    journal = host.workdir / "journal"
    done: list[str] = []
    stop = threading.Event()
    server.cut_connections()
    began_s = time.monotonic()
    host.run(["sleep", "0.02"], timeout_s=20)
    # A login and a command: on a busy machine none would end otherwise.
    period_s = max(0.23, 2 * (time.monotonic() - began_s))

    def cut() -> None:
        while not stop.wait(period_s):
            server.cut_connections()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        for number in range(60):
            try:
                script = 'echo "$1" >>"$0"; sleep 0.02'
                host.run(["sh", "-c", script, str(journal), f"w{number}"], timeout_s=30)
                done.append(f"w{number}")
            except MeasurementError as error:
                # While it logs in, starts a command, or waits for one.
                assert "lost" in error.message or "SSH" in error.message
    finally:
        stop.set()
        cutting.join()
    written = host.run(["cat", str(journal)], timeout_s=30).text.split()
    assert len(written) == len(set(written))
    assert set(done) <= set(written)
    assert len(done) > 10


@pytest.mark.exhaustive
def test_who_is_killed_leaves_nothing_running(
    server: SshServer, workdir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    access = server.access
    script = (
        "import sys, time; from pathlib import Path; "
        "from sfcperf.hosts.ssh import SshAccess, SshHost; "
        f"host = SshHost('g', SshAccess({access.address!r}, Path({str(access.key)!r}), "
        f"{access.host_keys!r}, {access.user!r}), Path({str(workdir)!r})); "
        f"host.spawn(['sh', '-c', {STUBBORN!r}], stdout=Path({str(out)!r})); time.sleep(600)"
    )
    killed = subprocess.Popen([sys.executable, "-c", script])
    try:
        assert eventually(lambda: out.exists() and out.read_text() == "ready\n", 30)
    finally:
        killed.kill()
        killed.wait()
    assert eventually(lambda: not server.processes(), 30)


@pytest.mark.exhaustive
def test_who_goes_silent_leaves_nothing_running(
    server: SshServer, workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "SILENCE_S", 2)
    monkeypatch.setattr(guest, "HEARTBEAT_S", 0.5)
    host = SshHost("guest", server.access, workdir)
    start_sleepers(host, tmp_path / "out")
    time.sleep(5)
    assert len(sleepers(server)) >= 2  # as long as it hears of us, all goes on
    with server.silent():
        assert eventually(lambda: not sleepers(server), 30)
    host.close()


def test_an_interruption_ends_the_command(host: SshHost, server: SshServer) -> None:
    class Interrupted(BaseException):
        pass

    cancellation = waiting.Cancellation(Interrupted)
    threading.Timer(1.0, cancellation.set).start()
    with pytest.raises(Interrupted), waiting.cancelled_by(cancellation):
        host.run(["sleep", "4321"], timeout_s=60)
    assert eventually(lambda: not sleepers(server), 30)
    assert host.run(["echo", "on"], timeout_s=10).text == "on\n"


def test_a_broken_connection_ends_a_conversation(host: SshHost, server: SshServer) -> None:
    argv = ["sh", "-c", 'trap "" TERM HUP INT; : 4321; while read -r line; do echo $line; done']
    talk = host.converse(argv)
    assert talk.ask(b"one\n", 10) == b"one"
    server.cut_connections()
    with pytest.raises(ConversationOver, match="and so has the connection to guest"):
        talk.ask(b"two\n", 10)
    assert eventually(lambda: not sleepers(server), 30)
    assert host.converse(argv).ask(b"three\n", 10) == b"three"
    host.close()
    assert eventually(lambda: not server.processes(), 30)


def test_another_machine_is_refused(server: SshServer, workdir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    pinned = new_key(other)
    host = SshHost("guest", replace(server.access, host_keys=(pinned,)), workdir)
    with pytest.raises(DeploymentError) as caught:
        host.wait_reachable(20)
    shown = tmp_path / "shown"
    shown.write_text(server.host_key)
    assert _fingerprint(shown) in caught.value.message
    assert _fingerprint(other) in caught.value.message


def _fingerprint(key: Path) -> str:
    """As OpenSSH has it."""
    argv = ["ssh-keygen", "-l", "-f", str(key)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()[1]


def test_the_key_that_is_offered(server: SshServer) -> None:
    assert scan(server.address) == server.host_key
    with pytest.raises(Unreachable, match="shows no SSH host key"):
        scan(server.address, port=23, timeout_s=5)


def test_who_does_not_know_our_key(server: SshServer, workdir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    new_key(other)
    host = SshHost("guest", replace(server.access, key=other), workdir)
    with pytest.raises(DeploymentError, match=r"cannot be used after 2 s: .* does not accept"):
        host.wait_reachable(2)
    with pytest.raises(DeploymentError, match=r"cannot be used: .* does not accept"):
        host.wait_reachable(60, boots=False)


@pytest.mark.parametrize(
    ("passphrase", "reason"), [(None, "No such file"), ("secret", "Passphrase must be specified")]
)
def test_a_key_that_cannot_be_read_is_told_at_once(
    server: SshServer, workdir: Path, tmp_path: Path, passphrase: str | None, reason: str
) -> None:
    key = tmp_path / "lab"
    if passphrase is not None:
        new_key(key, passphrase)
    host = SshHost("guest", replace(server.access, key=key), workdir)
    with pytest.raises(InputError, match=reason) as caught:
        host.wait_reachable(60)
    assert caught.value.where == str(key)


def test_nobody_there(workdir: Path, server: SshServer) -> None:
    host = SshHost("guest", replace(server.access, port=2), workdir)
    with pytest.raises(DeploymentError, match="does not answer by SSH: Connection refused"):
        host.wait_reachable(1)
    with pytest.raises(MeasurementError, match="cannot be reached by SSH"):
        host.run(["true"], timeout_s=10)


def test_without_a_pin_nothing_is_trusted(server: SshServer, workdir: Path) -> None:
    host = SshHost("guest", replace(server.access, host_keys=()), workdir)
    with pytest.raises(InputError, match="no host key is pinned"):
        host.wait_reachable(5)


def test_sudo_that_wants_a_password(tmp_path: Path, workdir: Path) -> None:
    with ssh_servers.openssh(tmp_path, user=ssh_servers.LOGIN, sudo=False) as server:
        host = SshHost("guest", server.access, workdir)
        with pytest.raises(DeploymentError, match="a password is required") as caught:
            host.wait_reachable(5)
        assert "sudo without a password" in (caught.value.hint or "")
