"""Versions of what is installed here: Python packages, and Debian packages of the tools."""

from __future__ import annotations

from importlib.metadata import distributions

from sfcperf.environment.debian_packages import package_versions
from sfcperf.environment.tools import find
from sfcperf.results.provenance import TOOLS


def python_packages() -> str:
    """Return a line `name==version` for each installed distribution, sorted, as `pip freeze`
    prints."""
    # Each access to `metadata` parses a file, so that it is read once per distribution.
    known = ((found["Name"], found["Version"]) for found in (d.metadata for d in distributions()))
    found = {(name, version) for name, version in known if name and version}
    ordered = sorted(found, key=lambda item: (item[0].lower(), item[1]))
    return "".join(f"{name}=={version}\n" for name, version in ordered)


def system_packages() -> str:
    """Return a line `package version` for each Debian package that one of the tools comes from,
    sorted. The text is empty where there is no dpkg, or where dpkg did not install the tools."""
    tools = [path for argv in TOOLS.values() if (path := find(argv[0])) is not None]
    return "".join(f"{line}\n" for line in sorted(set(package_versions(tools).values())))
