"""The workflows and profiles that come with sfcperf."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def shipped_workflows() -> dict[str, Path]:
    """Name -> file."""
    folder = Path(str(files("sfcperf.workflows")))
    return {file.stem: file for file in sorted(folder.glob("*.json"))}


def shipped_profiles() -> dict[str, Path]:
    """Name -> file."""
    folder = Path(str(files("sfcperf.workflows") / "profiles"))
    return {file.stem: file for file in sorted(folder.glob("*.json"))}
