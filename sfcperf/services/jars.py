"""Services that are written in Java: where their jars are, and how one is called."""

from __future__ import annotations

import os
from pathlib import Path

from sfcperf.environment import tools
from sfcperf.plugins import Requirement

OVERRIDE = "SFCPERF_SERVERS"
"""Environment variable: the folder with a folder for each service, instead of the source tree's."""

_TREE = Path(__file__).resolve().parents[2] / "build" / "servers"
_REMEDY = (
    "`make setup-security` in the source tree fetches it; elsewhere, set "
    f"{OVERRIDE} to the tree's build/servers"
)


def folder(service: str) -> Path:
    """Where the jars of a service are, or should be."""
    return Path(os.environ.get(OVERRIDE) or _TREE) / service


def requirements(service: str) -> list[Requirement]:
    """Java, and the jars of a service."""
    path = folder(service)
    # Written when all of them are there (playbooks/jars.sh).
    met = (path / ".complete").is_file()
    jars = Requirement(
        f"{service} (jars)",
        met,
        str(path) if met else f"not in {path}",
        "" if met else _REMEDY,
    )
    return [tools.tool("java", "openjdk-17-jre-headless", ["java", "-version"]), jars]


def java(service: str, options: list[str], main: str, *arguments: str) -> list[str]:
    """Command line of a class in the jars of a service. Raises EnvironmentLacks."""
    for need in requirements(service):
        need.demand()
    return ["java", *options, "-cp", f"{folder(service)}/*", main, *arguments]
