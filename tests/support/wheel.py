"""The project's wheel, as `pip wheel` makes it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Container
from pathlib import Path

from support.ended import ended

TREE = Path(__file__).resolve().parents[2]
SOURCES = [
    *("sfcperf", "drivers", "vnfs", "dataplane", "schemas", "workflows", "playbooks"),
    *("setup.py", "pyproject.toml", "README.md", "LICENSE"),
]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
OFFLINE = ["--no-index", "--no-deps", "--no-build-isolation"]


def build_wheel(folder: Path) -> Path:
    """Made in a new folder, without network. A build writes beside its sources: it works on a copy,
    so that tests leave the tree alone."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in SOURCES:
        if (TREE / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(TREE / name, source / name, ignore=ignored)
        else:
            shutil.copy(TREE / name, source)
    run_command([*PIP, "wheel", *OFFLINE, "--wheel-dir", str(folder), str(source)], folder)
    (wheel,) = folder.glob("sfcperf-*.whl")
    return wheel


def run_command(
    argv: list[str], folder: Path, timeout_s: float = 300, codes: Container[int] = (0,)
) -> str:
    """What a command prints; fails the test with it if the exit code is none of `codes`."""
    done = ended(argv, timeout_s=timeout_s, folder=folder)
    assert done.returncode in codes, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout
