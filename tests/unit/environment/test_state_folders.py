"""State folders: where they are, and private ones that `clean` finds, whatever ends a process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from sfcperf.control.clean import clean
from sfcperf.control.state import StateDir
from sfcperf.environment.private import dead_folders, folder_beside
from sfcperf.environment.state_root import state_folder, state_root
from sfcperf.errors import EnvironmentLacks


def in_a_killed_process(target: Path) -> None:
    """`folder_beside` in a process that is killed inside it."""
    child = os.fork()
    if child == 0:
        try:
            with folder_beside(target) as folder:
                (folder / "half").write_text("x")
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_nothing_is_left_of_a_folder_beside_a_target(tmp_path: Path, state_dir: Path) -> None:
    target = tmp_path / "results" / "trace"
    with folder_beside(target) as folder:
        (folder / "made").mkdir()
        (folder / "made").rename(target)
        assert dead_folders() == []
    assert [path.name for path in target.parent.iterdir()] == ["trace"]
    assert not any(state_dir.iterdir())


def test_clean_removes_that_of_a_killed_process(tmp_path: Path, state_dir: Path) -> None:
    target = tmp_path / "results" / os.fsdecode(b"tr\xe9 $ace")
    in_a_killed_process(target)
    assert len(list(target.parent.iterdir())) == 1
    assert len(clean(dry_run=True)) == 2
    assert len(list(target.parent.iterdir())) == 1
    assert len(clean(dry_run=False)) == 2
    assert not any(target.parent.iterdir())
    assert not any(state_dir.iterdir())


def test_a_folder_of_somebody_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in its place belongs to another user by now."""
    target = tmp_path / "results" / "trace"
    in_a_killed_process(target)
    (beside,) = target.parent.iterdir()
    if os.geteuid():
        pytest.skip("only root gives folders away")
    os.chown(beside, 12345, 12345)
    clean(dry_run=False)
    assert beside.is_dir()


@pytest.mark.parametrize(
    ("uid", "variables", "expected"),
    [
        (0, {}, "/var/lib/sfcperf"),
        (0, {"XDG_STATE_HOME": "/xdg"}, "/var/lib/sfcperf"),
        (1000, {}, "/home/user/.local/state/sfcperf"),
        (1000, {"XDG_STATE_HOME": "/xdg"}, "/xdg/sfcperf"),
        (0, {"SFCPERF_STATE_DIR": "/named"}, "/named"),
        (1000, {"SFCPERF_STATE_DIR": "/named"}, "/named"),
    ],
)
def test_state_is_kept_where_the_user_keeps_his(
    monkeypatch: pytest.MonkeyPatch, uid: int, variables: dict[str, str], expected: str
) -> None:
    for name in ("SFCPERF_STATE_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/user", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert state_root() == StateDir().root == Path(expected)


def test_folders_of_the_state_are_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path / "root"))
    folder = state_folder("models")
    assert folder == tmp_path / "root" / "models" == state_folder("models")
    assert {each.stat().st_mode & 0o777 for each in (folder, folder.parent)} == {0o700}


def test_a_user_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that was started with a number for a user."""
    for name in ("SFCPERF_STATE_DIR", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for function in ("getuid", "geteuid"):
        monkeypatch.setattr(os, function, lambda: 4_000_000_000)
    with pytest.raises(EnvironmentLacks) as lacks:
        state_root()
    assert "SFCPERF_STATE_DIR" in (lacks.value.hint or "")
