"""What `sfcperf setup` finds missing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sfcperf
from sfcperf.cli import preparing
from sfcperf.dataplane import binaries
from sfcperf.errors import EnvironmentLacks

NEEDED = {"run": ["ping", "socat"], "build": ["clang"], "test": ["tshark"]}
OF_DEBIAN = {"run": ["iperf3"], "build": [], "test": []}


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"packages": NEEDED, "packages_of_distribution": {"Debian": OF_DEBIAN}}
    monkeypatch.setattr(preparing, "_variables", lambda: known)
    monkeypatch.setattr(preparing, "_distribution", lambda: "Debian")
    monkeypatch.setattr(preparing, "find", str)


def _dpkg(monkeypatch: pytest.MonkeyPatch, output: str) -> list[list[str]]:
    """Make dpkg-query print this; return its calls, as they come."""
    calls: list[list[str]] = []

    def run(argv: list[str], **_: Any) -> SimpleNamespace:
        calls.append(argv)
        return SimpleNamespace(stdout=output)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_packages_for_tests_are_not_asked_for(
    debian: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _dpkg(monkeypatch, "installed ping\ninstalled clang\nconfig-files socat\n")
    assert preparing.missing_packages() == ["socat", "iperf3"], "one that was removed is missing"
    assert len(calls) == 1


def test_the_playbook_names_packages_of_each_purpose() -> None:
    known = preparing._variables()
    for packages in (known["packages"], *known["packages_of_distribution"].values()):
        assert set(preparing.PURPOSES) <= packages.keys()


def test_an_unknown_distribution(debian: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_distribution", lambda: "Slackware")
    with pytest.raises(EnvironmentLacks, match=r"Slackware.*Debian.*--no-packages"):
        preparing.missing_packages()


def test_tools_go_to_the_folder_in_which_they_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its name is. (make only prints its commands.)"""
    make, printed = tmp_path / "make", tmp_path / "printed"
    make.write_text(f'#!/bin/sh\nexec make --dry-run "$@" > {printed}\n')
    make.chmod(0o755)
    monkeypatch.setattr(preparing, "find", lambda name: str(make))
    monkeypatch.setenv(binaries.OVERRIDE, "tools")
    monkeypatch.chdir(tmp_path)
    assert preparing.compile_data_planes() == tmp_path / "tools"
    assert f" -o {tmp_path}/tools/sfc-forwarder " in printed.read_text()


def test_tools_of_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(binaries.OVERRIDE, str(tmp_path))
    (tmp_path / "sfc-forwarder").touch(0o755)
    version = tmp_path / binaries.VERSION_FILE
    version.write_text(f"{sfcperf.__version__}\n")
    assert binaries.requirement("sfc-forwarder").met
    version.write_text("0.0.1\n")
    with pytest.raises(EnvironmentLacks, match=r"is of SFCPerf 0\.0\.1"):
        binaries.find("sfc-forwarder")
