"""What every Host does alike: in a namespace, by OpenSSH and sudo, by dropbear to busybox alone
behind a jump host, and by an agent."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.network import ssh_servers
from support.network.lab import config, namespace_lab
from support.network.wires import eventually

from sfcperf import waiting
from sfcperf.drivers.local.machine import make_folder
from sfcperf.drivers.machines.config import machine_configs
from sfcperf.errors import MeasurementError
from sfcperf.hosts.agent import Agent
from sfcperf.hosts.base import ConversationOver, Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.ssh import SshHost

pytestmark = pytest.mark.root

KINDS = ("namespace", "sudo", "jump", "agent")
_numbers = itertools.count()


@pytest.fixture(scope="module", params=KINDS)
def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("machines")
    with ExitStack() as stack:
        yield _host(request.param, folder, stack)


def _host(kind: str, folder: Path, stack: ExitStack) -> Host:
    workdir = Path(f"/tmp/contract-{os.getpid()}-{next(_numbers)}")
    if kind == "namespace":
        name = f"contract-{os.getpid()}-{next(_numbers)}"
        _run("ip", "netns", "add", name)
        stack.callback(_run, "ip", "netns", "del", name)
        _run("ip", "-n", name, "link", "set", "lo", "up")
        stack.callback(_run, "rm", "-rf", str(workdir))
        workdir.mkdir()
        return NamespaceHost("guest", name, workdir)
    if reason := ssh_servers.lacking():
        pytest.skip(reason)
    (folder / "guest").mkdir()
    stack.callback(_run, "rm", "-rf", str(workdir))
    if kind == "agent":
        return _by_agent(folder, workdir, stack)
    if kind == "sudo":
        guest = ssh_servers.openssh(folder / "guest", user=ssh_servers.LOGIN)
        return _ssh(stack.enter_context(guest), workdir, stack)
    (folder / "jump").mkdir()
    jump = stack.enter_context(ssh_servers.openssh(folder / "jump"))
    server = stack.enter_context(ssh_servers.dropbear(folder / "guest", behind=jump))
    return _ssh(server, workdir, stack, _ssh(jump, workdir, stack))


def _by_agent(folder: Path, workdir: Path, stack: ExitStack) -> Host:
    lab = stack.enter_context(namespace_lab(folder / "guest", machines=1))
    [machine] = machine_configs(config(lab)).values()
    agent = Agent(machine.name, machine.access, folder / "ssh.log")
    stack.callback(agent.close)
    agent.call(make_folder, workdir)
    return agent.host("guest", None, workdir, ())


def _ssh(
    server: ssh_servers.SshServer, workdir: Path, stack: ExitStack, jump: SshHost | None = None
) -> SshHost:
    host = SshHost("guest", server.access, workdir, jump)
    stack.callback(host.close)
    host.wait_reachable(20)
    return host


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, timeout=20)


def _sh(script: str, *words: str) -> list[str]:
    return ["sh", "-c", script, "sh", *words]


AWKWARD = ["", " ", "a b", "$HOME `id` $(id) ; id & id | id > /x", "'", '"', "\\", "\\n"]
AWKWARD += ["line\nline", "*", "~", "-n", "ü€", "!$#", "\t", "'\"'\"'"]


def test_what_a_command_says_and_how_it_ends(host: Host) -> None:
    done = host.run(_sh("printf out$LC_ALL; printf err >&2"), timeout_s=10)
    assert (done.stdout, done.stderr, done.returncode) == (b"outC", b"err", 0)
    with pytest.raises(MeasurementError, match=r"ended with 3: one; two"):
        host.run(_sh("echo one >&2; echo two >&2; exit 3"), timeout_s=10)
    assert host.run(_sh("exit 3"), timeout_s=10, check=False).returncode == 3
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        done = host.run(_sh(f"kill -{number} $$"), timeout_s=10, check=False)
        assert done.returncode == -number


def test_arguments_arrive_as_they_are(host: Host) -> None:
    done = host.run(_sh('for word; do printf "%s\\0" "$word"; done', *AWKWARD), timeout_s=10)
    assert done.stdout.decode().split("\0")[:-1] == AWKWARD
    # dropbear refuses command lines of more than 9000 bytes.
    for size in (7_000, 9_000, 60_000):
        words = ["x'" * (size // 4), "y " * (size // 4)]
        assert host.run(_sh('printf "%s|%s" "$@"', *words), timeout_s=10).text == "|".join(words)


def test_standard_input_is_bytes_and_has_an_end(host: Host) -> None:
    for data in (b"", b"\0", bytes(range(256)) * 3, os.urandom(3_000_000)):
        assert host.run(["cat"], timeout_s=30, stdin=data).stdout == data
    assert host.run(["cat"], timeout_s=10).stdout == b""
    assert host.run(["true"], timeout_s=10, stdin=bytes(2_000_000)).returncode == 0


@pytest.mark.parametrize(
    ("command", "reason"),
    [("no-such-command", "No such file or directory"), ("/etc/passwd", "Permission denied")],
)
def test_what_cannot_be_started_is_told(host: Host, command: str, reason: str) -> None:
    for start in (
        lambda: host.run([command], timeout_s=10),
        lambda: host.spawn([command]),
        lambda: host.converse([command]),
    ):
        with pytest.raises(MeasurementError, match=rf"{command} cannot be started.*{reason}"):
            start()


def test_what_takes_too_long_is_killed_with_its_children(host: Host) -> None:
    mark = f"31.4{os.getpid()}{next(_numbers)}"
    started = time.monotonic()
    with pytest.raises(MeasurementError, match=r"sh was stopped after 0.5 s"):
        host.run(_sh(f"sleep {mark} & sleep {mark}; true"), timeout_s=0.5)
    assert time.monotonic() - started < 20
    assert _gone(host, mark)


def _gone(host: Host, mark: str) -> bool:
    """Whether no process of the host has the mark among its arguments any more."""
    for _ in range(50):
        if mark not in host.run(["ps"], timeout_s=10).text + _arguments(host):
            return True
        time.sleep(0.1)
    return False


def _arguments(host: Host) -> str:
    script = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " <$f; echo; done 2>/dev/null; true'
    lines = host.run(["sh", "-c", script], timeout_s=10).text.splitlines()
    return "\n".join(line for line in lines if line.startswith("sleep"))


def test_a_process_in_the_background(host: Host, tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    out.write_text("before\n")
    process = host.spawn(_sh("echo started; echo said >&2; exec sleep 60"), stdout=out, stderr=err)
    assert eventually(
        lambda: out.read_text() == "before\nstarted\n" and err.read_text() == "said\n", 30
    )
    assert process.poll() is None
    with pytest.raises(MeasurementError, match=r"still runs after 0\.1 s"):
        process.wait(0.1)
    assert host.read_text(f"/proc/{process.pid}/stat").startswith(f"{process.pid} (")
    assert b"sleep" in host.run(["cat", f"/proc/{process.pid}/cmdline"], timeout_s=10).stdout
    assert process.stop() == -signal.SIGTERM
    assert process.poll() == process.wait(0) == process.stop() == -signal.SIGTERM
    process.send_signal(signal.SIGTERM)
    with pytest.raises(MeasurementError):
        host.read_text(f"/proc/{process.pid}/stat")


def test_outputs_that_nobody_wants_and_both_in_one_file(host: Host, tmp_path: Path) -> None:
    assert host.spawn(_sh("echo one; echo two >&2; exit 7")).wait(10) == 7
    both = tmp_path / "both"
    assert host.spawn(_sh("echo one; echo two >&2"), stdout=both, stderr=both).wait(10) == 0
    assert sorted(both.read_text().split()) == ["one", "two"]


def test_signals_reach_the_process(host: Host, tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = 'trap "echo usr1" USR1; trap "echo term; exit 5" TERM; echo ready; ' + (
        "while :; do sleep 0.05; done"
    )
    process = host.spawn(_sh(script), stdout=out)
    assert eventually(lambda: out.read_text() == "ready\n", 30)
    process.send_signal(signal.SIGUSR1)
    assert eventually(lambda: out.read_text() == "ready\nusr1\n", 30)
    assert process.stop() == 5
    assert out.read_text() == "ready\nusr1\nterm\n"


def test_who_does_not_want_to_end_is_killed(host: Host, tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
    process = host.spawn(_sh(script), stdout=out)
    assert eventually(lambda: out.read_text() == "ready\n", 30)
    assert process.stop(0.2) == -signal.SIGKILL


def test_much_output_is_whole(host: Host, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert host.spawn(["head", "-c", "20000000", "/dev/zero"], stdout=out).wait(60) == 0
    assert out.stat().st_size == 20_000_000


def test_an_output_that_cannot_be_opened(host: Host, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="the output of true cannot be written"):
        host.spawn(["true"], stdout=tmp_path / "nosuch" / "out")


ECHO = 'while read -r line; do echo "<$line>"; done'


def test_a_conversation(host: Host) -> None:
    talk = host.converse(_sh(f"echo to nobody >&2; {ECHO}"))
    for word in ("one", "", "a b"):
        assert talk.ask(f"{word}\n".encode(), 10) == f"<{word}>".encode()
    assert host.read_text(f"/proc/{talk.pid}/stat").startswith(f"{talk.pid} (")
    talk.close()
    with pytest.raises(MeasurementError):
        host.read_text(f"/proc/{talk.pid}/stat")
    with pytest.raises(ConversationOver, match="sh has ended"):
        talk.ask(b"more\n", 10)
    talk.close()


def test_a_long_question(host: Host) -> None:
    """More than pipes and windows hold, to one that begins late to read it."""
    talk = host.converse(_sh('sleep 0.3; head -c 3000000 | wc -c | tr -d " "; read -r rest'))
    assert talk.ask(b"x" * 3_000_000, 30) == b"3000000"
    talk.close()


def test_a_conversation_that_ends_without_an_answer(host: Host) -> None:
    for script in ("exit 3", "read -r line; exit 3", "read -r line; printf half"):
        talk = host.converse(_sh(script))
        for _ in range(2):
            with pytest.raises(ConversationOver, match="sh has ended"):
                talk.ask(b"question\n", 10)
    talk = host.converse(_sh(ECHO))
    assert talk.ask(b"1\n", 10) == b"<1>"
    host.run(["kill", "-9", str(talk.pid)], timeout_s=10)
    with pytest.raises(ConversationOver, match="sh has ended"):
        talk.ask(b"2\n", 10)


def test_a_conversation_without_an_answer_is_ended(host: Host) -> None:
    mark = f"31.4{os.getpid()}{next(_numbers)}"
    talk = host.converse(["sleep", mark])
    with pytest.raises(MeasurementError, match=r"sleep did not answer within 0\.1 s"):
        talk.ask(b"question\n", 0.1)
    assert _gone(host, mark)
    with pytest.raises(ConversationOver):
        talk.ask(b"question\n", 0.1)


def test_a_question_can_be_cancelled(host: Host) -> None:
    class Interrupted(BaseException):
        pass

    cancellation = waiting.Cancellation(Interrupted)
    mark = f"31.4{os.getpid()}{next(_numbers)}"
    talk = host.converse(["sleep", mark])
    threading.Timer(0.3, cancellation.set).start()
    with pytest.raises(Interrupted), waiting.cancelled_by(cancellation):
        talk.ask(b"question\n", 60)
    assert _gone(host, mark)


def test_files_are_read_as_they_are(host: Host, tmp_path: Path) -> None:
    assert "lo:" in host.read_text("/proc/net/dev")
    assert host.read_text("/proc/version") == host.run(["cat", "/proc/version"], timeout_s=10).text
    for number, text in enumerate(["", "\n", "no end of line", "a\n\nb\n", "ü\n" * 100_000]):
        local, remote = tmp_path / str(number), host.workdir / f"text {number}"
        local.write_text(text)
        host.put(local, remote)
        assert host.read_text(str(remote)) == text
    for path, reason in (("/no/such file", "No such file"), ("/proc", "Is a directory")):
        match = f"cannot be read on guest: {reason}"
        with pytest.raises(MeasurementError, match=match) as caught:
            host.read_text(path)
        assert caught.value.where == path


def test_files_go_and_come_back(host: Host, tmp_path: Path) -> None:
    local, back = tmp_path / "local", tmp_path / "deep" / "er" / "back"
    local.write_bytes(os.urandom(1_000_000))
    local.chmod(0o750)
    remote = host.workdir / "some folder" / "it's"
    host.put(local, remote)
    assert host.run(["stat", "-c", "%a", str(remote)], timeout_s=10).text == "750\n"
    host.get(remote, back)
    assert back.read_bytes() == local.read_bytes()
    local.write_bytes(b"shorter")
    host.put(local, remote)
    host.get(remote, back)
    assert back.read_bytes() == b"shorter"
    assert sorted(path.name for path in back.parent.iterdir()) == ["back"]


def test_what_cannot_be_copied_is_told(host: Host, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"cannot be copied.*No such file") as caught:
        host.get(Path("/no/such"), tmp_path / "x")
    assert caught.value.where == "/no/such"
    assert not list(tmp_path.iterdir())
    with pytest.raises(MeasurementError, match=r"cannot be copied.*No such file"):
        host.put(tmp_path / "nosuch", host.workdir / "x")
    (tmp_path / "x").write_text("x")
    with pytest.raises(MeasurementError, match="cannot be copied"):
        host.put(tmp_path / "x", Path("/proc/nosuch/x"))


def test_programs_of_this_machine_can_be_called(host: Host, tmp_path: Path) -> None:
    program = tmp_path / "our program"
    program.write_text('#!/bin/sh\necho "called with $*"\n')
    program.chmod(0o755)
    assert host.run([host.program(program), "a b"], timeout_s=10).text == "called with a b\n"
    assert host.program(program) == host.program(program)


def test_used_from_many_threads_at_once(host: Host, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                word = f"{number}-{turn}"
                assert host.run(["echo", word], timeout_s=30).text == f"{word}\n"
                assert host.read_text("/proc/sys/kernel/ostype") == "Linux\n"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_many_processes_at_a_time(host: Host) -> None:
    """OpenSSH opens no more than 10 sessions on a connection."""
    processes = [host.spawn(["sleep", "60"]) for _ in range(25)]
    assert len({process.pid for process in processes}) == 25
    assert host.run(["echo", "still here"], timeout_s=10).text == "still here\n"
    assert {process.stop() for process in processes} == {-signal.SIGTERM}


def test_commands_that_have_ended_keep_no_file_open(host: Host, tmp_path: Path) -> None:
    def spawn() -> None:
        out, err = tmp_path / "out", tmp_path / "err"
        assert host.spawn(_sh("echo out; echo err >&2"), stdout=out, stderr=err).wait(30) == 0

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    spawn()
    before = open_files()
    for _ in range(8):
        spawn()
    # A host that is reached by SSH closes them a moment after the end.
    assert eventually(lambda: open_files() <= before)
