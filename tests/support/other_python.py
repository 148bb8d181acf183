"""Judges from PyPI that need other versions of packages than SFCPerf: in an environment each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def python_with(folder: Path, requirement: str) -> Path:
    """The Python of a new environment in this folder, with one package and what it needs. Skips the
    test where that can be had neither from uv's cache nor from a registry."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("needs uv in the virtual environment (make setup)")
    python = folder / "bin" / "python"
    for argv in (
        [uv, "venv", "--quiet", "--python", sys.executable, folder],
        [uv, "pip", "install", "--quiet", "--python", python, requirement],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{requirement} cannot be installed: {done.stderr.strip()[-200:]}")
    return python
