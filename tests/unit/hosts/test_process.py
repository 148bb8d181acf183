"""Processes of this machine: how they start, in control groups or not, and how they fail to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf import retry
from sfcperf.environment import tools
from sfcperf.errors import MeasurementError
from sfcperf.hosts import process


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """Stands for a `cgroup.procs` file; real ones are in tests/integration/hosts."""
    return tmp_path / "cgroup.procs"


@pytest.fixture(params=["with", "without"])
def cgroups(request: pytest.FixtureRequest, group: Path) -> list[Path]:
    return [group] if request.param == "with" else []


def _descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def test_the_command_runs_with_the_id_that_joined_the_group(group: Path) -> None:
    done = process.run(["sh", "-c", "echo $$"], timeout_s=10, cgroups=[group])
    assert group.read_text().split() == done.text.split()


def test_every_group_is_joined_before_the_command_executes(tmp_path: Path) -> None:
    groups = [tmp_path / "one", tmp_path / "two"]
    done = process.run(["cat", *map(str, groups)], timeout_s=10, cgroups=groups)
    assert len(done.text) == 2 * len(groups[0].read_text()) > 0


def test_no_python_code_runs_between_fork_and_exec(
    group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could wait for ever for a lock that another thread held at the fork."""
    given: list[dict[str, Any]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, argv: list[str], **options: Any) -> None:
            given.append(options)
            super().__init__(argv, **options)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    process.run(["true"], timeout_s=10, cgroups=[group])
    assert [options.get("preexec_fn") for options in given] == [None]


@pytest.mark.parametrize("data", [None, b"\n" * 3, bytes(range(256)) * 500])
def test_standard_input_arrives_whole(cgroups: list[Path], data: bytes | None) -> None:
    done = process.run(["cat"], timeout_s=10, stdin=data, cgroups=cgroups)
    assert done.stdout == (data or b"")


def test_a_command_without_input_reads_an_end(cgroups: list[Path]) -> None:
    popen = process.start(["cat"], cgroups=cgroups)
    assert popen.wait(10) == 0
    assert popen.stdin is None


@examples(25, HealthCheck.function_scoped_fixture)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)))
def test_arguments_arrive_as_they_are(group: Path, arguments: list[str]) -> None:
    code = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    argv = [sys.executable, "-S", "-E", "-c", code, *arguments]
    done = process.run(argv, timeout_s=30, cgroups=[group])
    assert done.stdout == b"\0".join(os.fsencode(argument) for argument in arguments)


@pytest.mark.parametrize("status", [0, 127])
def test_the_exit_status_is_the_commands(cgroups: list[Path], status: int) -> None:
    argv = ["sh", "-c", f"exit {status}"]
    assert process.run(argv, timeout_s=10, check=False, cgroups=cgroups).returncode == status


def test_death_by_a_signal_is_told(cgroups: list[Path]) -> None:
    running = process.LocalProcess(["sleep"], process.start(["sleep", "60"], cgroups=cgroups))
    assert running.poll() is None
    assert running.stop() == -signal.SIGTERM


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.write_text("not executable"), "Permission denied"),
    ],
)
def test_a_command_that_cannot_be_executed_is_told(
    cgroups: list[Path], tmp_path: Path, make: Callable[[Path], Any], reason: str
) -> None:
    command = tmp_path / "command"
    make(command)
    with pytest.raises(MeasurementError, match=f"command cannot be started: {reason}"):
        process.start([str(command)], cgroups=cgroups)


def test_a_command_that_is_in_no_folder_of_the_path_is_told(cgroups: list[Path]) -> None:
    with pytest.raises(MeasurementError, match="nosuchtool cannot be started: No such file"):
        process.run(["nosuchtool"], timeout_s=10, cgroups=cgroups)


def test_a_group_that_is_not_there_is_told_and_nothing_runs(tmp_path: Path, group: Path) -> None:
    trace, missing = tmp_path / "trace", tmp_path / "gone" / "cgroup.procs"
    before = _descriptors()
    with pytest.raises(MeasurementError, match="touch cannot enter its control group") as caught:
        process.start(
            ["touch", str(trace)], cgroups=[group, missing], stdout=subprocess.PIPE, stderr=-1
        )
    assert caught.value.where == str(missing)
    assert _descriptors() == before
    assert not Path("/proc", group.read_text()).exists()
    assert not trace.exists()


def test_an_interrupted_start_leaves_no_process(
    group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def interrupted(path: Path, text: str) -> int:
        seen.append(text)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.start(["sleep", "60"], cgroups=[group])
    assert not Path("/proc", seen[0]).exists()


def test_a_waiting_shell_ends_with_the_one_who_started_it(tmp_path: Path) -> None:
    """Killed before the command was let in: neither the shell nor the command stays."""
    os.mkfifo(tmp_path / "cgroup.procs")
    code = (
        "import sys; from pathlib import Path; from sfcperf.hosts import process;"
        "process.start(['touch', sys.argv[2]], cgroups=[Path(sys.argv[1])])"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "cgroup.procs"), str(tmp_path / "trace")]
    parent = subprocess.Popen(argv)
    # It blocks in the opening of the pipe that nobody reads, its shell waiting.
    shell = _child(parent.pid)
    parent.kill()
    parent.wait()
    exe = Path(f"/proc/{shell}/exe")
    assert retry.until(lambda: not exe.exists(), timeout_s=10, period_s=0.01)
    assert not (tmp_path / "trace").exists()


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(retry.until(children.read_text, timeout_s=20, period_s=0.01).split()[0])


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_an_output_in_no_folder_is_told_and_nothing_stays_open(tmp_path: Path, which: str) -> None:
    outputs = {"stdout": tmp_path / "out", "stderr": tmp_path / "err"}
    outputs[which] = tmp_path / "nowhere" / "file"
    before = _descriptors()
    with pytest.raises(MeasurementError, match="the output of true cannot be written") as caught:
        process.start(["true"], **outputs)  # type: ignore[arg-type]
    assert caught.value.where == str(outputs[which])
    assert _descriptors() == before


def test_outputs_are_closed_here_when_the_command_cannot_start(tmp_path: Path) -> None:
    before = _descriptors()
    with pytest.raises(MeasurementError, match="cannot be started"):
        process.start(["nosuchtool"], stdout=tmp_path / "out", stderr=tmp_path / "err")
    assert _descriptors() == before


def test_commands_of_the_sbin_folders_are_found_without_them_in_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cgroups: list[Path]
) -> None:
    """What `tools.find` says is there can be started."""
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho started\n")
    tool.chmod(0o755)
    monkeypatch.setattr(tools, "_ADMIN_FOLDERS", (str(tmp_path),))
    assert process.run(["only-here"], timeout_s=10, cgroups=cgroups).text == "started\n"
