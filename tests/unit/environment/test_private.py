"""Private folders, and folders that go with them: whatever ends a process, `clean` finds them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from sfcperf.control.clean import clean
from sfcperf.environment.private import dead_folders, folder_beside


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path / "state"))


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


def test_nothing_is_left_of_it(tmp_path: Path) -> None:
    target = tmp_path / "results" / "trace"
    with folder_beside(target) as folder:
        (folder / "made").mkdir()
        (folder / "made").rename(target)
        assert dead_folders() == []
    assert [path.name for path in target.parent.iterdir()] == ["trace"]
    assert not any((tmp_path / "state").iterdir())


def test_clean_removes_that_of_a_killed_process(tmp_path: Path) -> None:
    target = tmp_path / "results" / os.fsdecode(b"tr\xe9 $ace")
    in_a_killed_process(target)
    assert len(list(target.parent.iterdir())) == 1
    assert len(clean(dry_run=True)) == 2
    assert len(list(target.parent.iterdir())) == 1
    assert len(clean(dry_run=False)) == 2
    assert not any(target.parent.iterdir())
    assert not any((tmp_path / "state").iterdir())


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
