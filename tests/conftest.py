"""What all tests share: skips with reasons, and a state folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, and say why."""
    if item.get_closest_marker("root"):
        if not sys.platform.startswith("linux"):
            pytest.skip("needs Linux network namespaces")
        if os.geteuid() != 0:
            pytest.skip("needs root: sudo make test")


@pytest.fixture(autouse=True)
def state_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder for this test alone: `clean` and `resume` must not meet other tests' runs.

    Directly under the temporary folder, since sockets in it must fit the 107 bytes of a
    socket's path, which pytest's own tmp_path often exceeds.
    """
    folder = Path(tempfile.mkdtemp(prefix="sfcperf-"))
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bystander() -> Iterator[tuple[str, int]]:
    """A namespace and a process of somebody else, with a name that looks a little like ours."""
    name = f"sfcperfish-{os.getpid()}-{time.monotonic_ns()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    process = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "300"])
    yield name, process.pid
    process.kill()
    process.wait()
    subprocess.run(["ip", "netns", "del", name], check=True)
