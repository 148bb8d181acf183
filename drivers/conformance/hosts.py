"""Hosts of a deployment: commands, files, processes (sfcperf.hosts.base)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sfcperf import retry
from sfcperf.drivers.conformance.driver_under_test import COMMAND_TIMEOUT_S, DriverUnderTest
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import Deployment

PLACES = ("client", "server", "function")
_AWKWARD = ("two  blanks", "$HOME", "`id`", "a;b|c>d", "*", "'\"\\", "ü")
"""Arguments that a shell would change."""
_WAIT_S = 15.0


class Hosts(DriverUnderTest):
    """Tests of a deployment's hosts: of both endpoints, and of a function."""

    @pytest.fixture(params=PLACES)
    def host(self, request: pytest.FixtureRequest) -> Host:
        """The host of the client, of the server, and of the first function, one after the other."""
        built: Deployment = self.deployed(self.longest)
        hosts = (built.client.host, built.server.host, built.functions[0].host)
        return hosts[PLACES.index(request.param)]

    def test_commands_run(self, host: Host) -> None:
        """A command gets its input, and its output and status come back."""
        done = host.run(["cat"], timeout_s=COMMAND_TIMEOUT_S, stdin=b"line\n\xff\x00end")
        assert (done.returncode, done.stdout) == (0, b"line\n\xff\x00end")
        script = ["sh", "-c", "echo out; echo err >&2; exit 3"]
        done = host.run(script, timeout_s=COMMAND_TIMEOUT_S, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")

    def test_arguments_do_not_pass_through_a_shell(self, host: Host) -> None:
        """Arguments that a shell would change arrive unchanged."""
        done = host.run(["echo", *_AWKWARD], timeout_s=COMMAND_TIMEOUT_S)
        assert done.stdout.decode() == " ".join(_AWKWARD) + "\n"

    def test_errors_name_the_reason(self, host: Host) -> None:
        """A bad status, a missing command and a missing file raise MeasurementError; the first one
        says what the command printed."""
        with pytest.raises(MeasurementError, match="the reason"):
            host.run(["sh", "-c", "echo the reason >&2; exit 1"], timeout_s=COMMAND_TIMEOUT_S)
        with pytest.raises(MeasurementError):
            host.run(["sfcperf-no-such-command"], timeout_s=COMMAND_TIMEOUT_S)
        with pytest.raises(MeasurementError):
            host.read_text("/proc/no-such-file")

    def test_a_command_that_hangs_is_killed(self, host: Host) -> None:
        """A command that hangs is killed after its timeout, and no process is left on the host."""
        note = host.workdir / "hangs.pid"
        with pytest.raises(MeasurementError):
            host.run(["sh", "-c", f"echo $$ >{note}; exec sleep 600"], timeout_s=2.0)
        pid = host.read_text(str(note)).strip()
        assert pid.isdigit()
        _await(lambda: not _runs(host, int(pid)), f"process {pid} still runs")

    def test_processes_run_in_the_background(self, host: Host) -> None:
        """Output of a background process comes to this machine; it receives signals; after its end,
        stopping it and sending it signals is harmless."""
        out = self.run.raw_dir / f"spawned-{time.monotonic_ns()}.txt"
        process = host.spawn(["sh", "-c", "echo started; exec sleep 600"], stdout=out)
        try:
            _await(lambda: out.exists() and out.read_text() == "started\n", "it prints nothing")
            assert process.poll() is None
            assert _runs(host, process.pid)
            with pytest.raises(MeasurementError):
                process.wait(0.2)
            process.send_signal(signal.SIGTERM)
            assert process.wait(_WAIT_S) == -signal.SIGTERM == process.poll()
        finally:
            process.stop()
        process.send_signal(signal.SIGTERM)
        process.stop()
        _await(lambda: not _runs(host, process.pid), "it still runs")

    def test_a_process_that_ignores_sigterm_is_stopped(self, host: Host) -> None:
        """A process that ignores SIGTERM is killed by SIGKILL after its grace time."""
        out = self.run.raw_dir / f"stubborn-{time.monotonic_ns()}.txt"
        script = "trap '' TERM; echo ready; while :; do sleep 1; done"
        process = host.spawn(["sh", "-c", script], stdout=out)
        _await(lambda: out.exists() and "ready" in out.read_text(), "it does not start")
        assert process.stop(grace_s=0.5) == -signal.SIGKILL
        _await(lambda: not _runs(host, process.pid), "it still runs")

    def test_files_are_copied_in_both_directions(self, host: Host, tmp_path: Path) -> None:
        """Files arrive byte for byte; missing folders are created."""
        content = bytes(range(256)) * 512
        sent, back = tmp_path / "sent", tmp_path / "made" / "back"
        sent.write_bytes(content)
        there = host.workdir / "conformance" / "file with blanks"
        host.put(sent, there)
        host.get(there, back)
        assert back.read_bytes() == content
        with pytest.raises(MeasurementError):
            host.get(host.workdir / "no-such-file", back)

    def test_programs_of_this_machine_run_there(self, host: Host, tmp_path: Path) -> None:
        """A program of this machine runs on the host by the name that the host returns."""
        program = tmp_path / "conformance-program"
        program.write_text('#!/bin/sh\necho "called with $1"\n')
        program.chmod(0o755)
        done = host.run([host.program(program), "this"], timeout_s=COMMAND_TIMEOUT_S)
        assert done.stdout == b"called with this\n"


def _runs(host: Host, pid: int) -> bool:
    """Whether the process runs on the host; a zombie does not."""
    try:
        stat = host.read_text(f"/proc/{pid}/stat")
    except MeasurementError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _await(condition: Callable[[], bool], otherwise: str) -> None:
    """Wait until the condition is true. Fails the test with the message `otherwise` after
    _WAIT_S."""
    assert retry.until(condition, timeout_s=_WAIT_S, period_s=0.05), otherwise
