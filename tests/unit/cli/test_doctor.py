"""`sfcperf doctor`: what is optional."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sfcperf.environment import tools
from sfcperf.vnfs.sfcmon.controller import requirements


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder in which commands are looked for; none of them is in another one."""
    kept = [each for each in os.get_exec_path() if not (Path(each) / "simple_switch_grpc").exists()]
    kept = [each for each in kept if not (Path(each) / "p4c-bm2-ss").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), *kept]))
    return tmp_path


def _tool(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_bmv2_and_p4c_are_optional(
    sfcperf: Callable[..., int], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = sfcperf("doctor")
    said = " ".join(capsys.readouterr().out.split())
    assert "optional simple_switch_grpc not found on this machine" in said
    assert "simple_switch_grpc, p4c-bm2-ss: bmv2 and p4c are not in Debian" in said
    _tool(folder, "simple_switch_grpc")
    assert sfcperf("doctor") == without
    said = " ".join(capsys.readouterr().out.split())
    assert "optional p4c-bm2-ss" in said
    assert " p4c-bm2-ss: bmv2 and p4c" in said
    _tool(folder, "p4c-bm2-ss")
    assert sfcperf("doctor") == without
    assert "not in Debian" not in capsys.readouterr().out


def test_the_packages_of_the_sfc_controller_are_optional(
    sfcperf: Callable[..., int],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_them = sfcperf("doctor")
    assert "ok Python packages of the SFC controller" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(requirements, "find_spec", lambda _: None)
    assert sfcperf("doctor") == with_them
    said = " ".join(capsys.readouterr().out.split())
    assert "optional Python packages of the SFC controller" in said
    assert "Python packages of the SFC controller: pip install 'sfcperf[p4]'" in said


def test_extras_are_optional(
    sfcperf: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_them = sfcperf("doctor")
    capsys.readouterr()
    monkeypatch.setattr(tools, "find_spec", lambda name: None if name == "fastapi" else name)
    assert sfcperf("doctor") == with_them
    said = " ".join(capsys.readouterr().out.split())
    assert "optional Python packages fastapi, pydantic, uvicorn not installed: fastapi" in said
    assert "pip install 'sfcperf[security]'" in said
