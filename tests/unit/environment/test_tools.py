"""Requirements that plug-ins express."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sfcperf.environment import tools


@pytest.fixture
def fake_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command `fake-tool` on the path that prints a version."""
    path = tmp_path / "fake-tool"
    path.write_text("#!/bin/sh\necho 'fake 1.2'\necho more\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


def test_versions_are_asked_for_only_when_wanted(
    fake_tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tools.versions():
        found = tools.tool("fake-tool", "fake", ["fake-tool", "--version"])
    assert found.detail == f"fake 1.2 ({fake_tool})"

    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    found = tools.tool("fake-tool", "fake", ["fake-tool", "--version"])
    assert (found.met, found.detail) == (True, str(fake_tool))


def test_a_version_on_stderr_counts(fake_tool: Path) -> None:
    fake_tool.write_text("#!/bin/sh\necho 'fake 3' >&2\nexit 1\n")
    with tools.versions():
        assert "fake 3" in tools.tool("fake-tool", "fake", ["fake-tool", "-v"]).detail


def test_a_tool_that_does_not_run_is_still_found(fake_tool: Path) -> None:
    fake_tool.write_text("#!/no/such/interpreter\n")
    with tools.versions():
        found = tools.tool("fake-tool", "fake", ["fake-tool", "-v"])
    assert found.met
    assert found.detail == str(fake_tool)


def test_a_missing_tool_names_its_package() -> None:
    missing = tools.tool("no-such-tool-anywhere", "the-package")
    assert not missing.met
    assert "the-package" in missing.remedy


def test_sbin_is_searched_although_the_path_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert tools.find("ip") is not None or tools.find("sysctl") is not None


def test_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ordinary = tools.root("makes namespaces")
    assert not ordinary.met
    assert "makes namespaces" in ordinary.detail
    assert "sudo" in ordinary.remedy
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert tools.root("makes namespaces").met
