"""The workflows and profiles that come with sfcperf."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def shipped(folder: str = ".") -> dict[str, Path]:
    """Return name -> file of the shipped workflows; with the folder `profiles`, of the shipped
    profiles."""
    place = Path(str(files("sfcperf.workflows"))) / folder
    return {file.stem: file for file in sorted(place.glob("*.json"))}
