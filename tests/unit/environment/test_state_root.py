"""Where state is kept: of root, of other users, and where a variable says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfcperf.control.state import StateDir
from sfcperf.environment.state_root import state_folder, state_root
from sfcperf.errors import EnvironmentLacks


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
def test_it_is_the_users(
    monkeypatch: pytest.MonkeyPatch, uid: int, variables: dict[str, str], expected: str
) -> None:
    for name in ("SFCPERF_STATE_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/user", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert state_root() == StateDir().root == Path(expected)


def test_its_folders_are_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
