"""Jars of services that are written in Java: where they are, and how a class of them is started."""

from __future__ import annotations

import os
from pathlib import Path

from sfcperf.environment import tools
from sfcperf.plugins import Requirement

OVERRIDE = "SFCPERF_SERVERS"
"""Environment variable that names another folder than the source tree's; it has a folder for each
service."""

_TREE = Path(__file__).resolve().parents[2] / "build" / "servers"
_REMEDY = (
    "`make setup-security` in the source tree fetches it; elsewhere, set "
    f"{OVERRIDE} to the tree's build/servers"
)


def folder(service: str) -> Path:
    """Folder where the jars of a service are, or should be."""
    return Path(os.environ.get(OVERRIDE) or _TREE) / service


def requirements(service: str) -> list[Requirement]:
    """What a service in Java needs: Java, and its jars."""
    path = folder(service)
    # playbooks/jars.sh writes this file when all jars are there.
    met = (path / ".complete").is_file()
    jars = Requirement(
        f"{service} (jars)",
        met,
        str(path) if met else f"not in {path}",
        "" if met else _REMEDY,
    )
    return [tools.tool("java", "openjdk-17-jre-headless", ["java", "-version"]), jars]


def java(service: str, options: list[str], main: str, *arguments: str) -> list[str]:
    """Command line that starts a class in the jars of a service. Raises EnvironmentLacks."""
    for need in requirements(service):
        need.demand()
    return ["java", *options, "-cp", f"{folder(service)}/*", main, *arguments]
