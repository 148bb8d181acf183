"""The `bench` fixture: the fakes are installed, and there are folders to run them in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf import plugins
from sfcperf.control.noise import machine_noise as noise
from sfcperf.results.provenance import software
from support import fakes
from support.engine import Bench


@pytest.fixture
def bench(tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name in ("installed", "resources", "results"):
        (tmp_path / name).mkdir()
    path = fakes.register(tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", path)
    for folder in path.split(os.pathsep):
        monkeypatch.syspath_prepend(folder)
    # What the machine does is no matter of these tests, and its readings cost each trial 350 ms.
    monkeypatch.setattr(noise, "QUIET_SAMPLES", 1)
    monkeypatch.setattr(noise, "QUIET_INTERVAL_S", 0.0)
    monkeypatch.setattr(noise, "LOAD_S", 0.0)
    monkeypatch.setattr(noise, "SETTLE_S", 0.0)
    monkeypatch.setattr(noise, "MOST_PROCESSES", 0)
    # What took part is asked of eleven commands.
    monkeypatch.setattr(software, "_tools", dict)
    monkeypatch.setattr(software, "_revision", lambda source: None)
    forget_plugins()
    yield Bench(tmp_path / "resources", tmp_path / "results", state_dir)
    forget_plugins()


def forget_plugins() -> None:
    """What is installed is looked up again."""
    for function in (plugins.names, plugins.load, plugins._points, plugins._installed):
        function.cache_clear()
