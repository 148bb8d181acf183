"""`sfcperf doctor`: what is optional."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command import Command

from sfcperf.environment import tools


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


def test_bmv2_and_p4c_are_optional(sfcperf: Command, folder: Path) -> None:
    without = sfcperf("doctor")
    said = " ".join(sfcperf.out.split())
    assert "optional simple_switch_grpc not found on this machine" in said
    assert "simple_switch_grpc, p4c-bm2-ss: bmv2 and p4c are not in Debian" in said
    _tool(folder, "simple_switch_grpc")
    assert sfcperf("doctor") == without
    said = " ".join(sfcperf.out.split())
    assert "optional p4c-bm2-ss" in said
    assert " p4c-bm2-ss: bmv2 and p4c" in said
    _tool(folder, "p4c-bm2-ss")
    assert sfcperf("doctor") == without
    assert "not in Debian" not in sfcperf.out


def test_extras_are_optional(sfcperf: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = sfcperf("doctor")
    monkeypatch.setattr(tools, "find_spec", lambda _: None)
    assert sfcperf("doctor") == with_them
    said = " ".join(sfcperf.out.split())
    for extra in ("openflow", "p4", "security"):
        assert f"optional sfcperf[{extra}] not installed" in said
        assert said.count(f"sfcperf[{extra}]: pip install 'sfcperf[{extra}]'") == 1
