"""Versions of what is installed here: Python packages, and Debian packages of the tools."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

from sfcperf.environment.questions import ask
from sfcperf.environment.tools import find
from sfcperf.results.provenance import TOOLS

_TIMEOUT_S = 20.0


def python_packages() -> str:
    """A line `name==version` for each installed distribution, sorted, as `pip freeze` prints."""
    # Each `metadata` parses a file.
    known = ((found["Name"], found["Version"]) for found in (d.metadata for d in distributions()))
    found = {(name, version) for name, version in known if name and version}
    ordered = sorted(found, key=lambda item: (item[0].lower(), item[1]))
    return "".join(f"{name}=={version}\n" for name, version in ordered)


def system_packages() -> str:
    """A line `package version` for each Debian package that one of the tools comes from, sorted;
    empty where there is no dpkg, or the tools were not installed by it."""
    dpkg = find("dpkg-query")
    tools = [path for argv in TOOLS.values() if (path := find(argv[0])) is not None]
    if dpkg is None or not tools:
        return ""
    # A tool may be a link (Debian's alternatives, merged /usr); dpkg knows either name.
    paths = {str(p) for t in tools for p in (Path(t), Path(t).resolve()) for p in _both(p)}
    owners = _output([dpkg, "--search", *sorted(paths)])
    packages = {line.partition(": ")[0] for line in owners.splitlines() if ": /" in line}
    names = sorted({name.strip() for group in packages for name in group.split(",")})
    if not names:
        return ""
    shown = _output([dpkg, "--show", "--showformat=${Package} ${Version}\\n", *names])
    return "".join(f"{line}\n" for line in sorted(shown.splitlines()))


def _both(path: Path) -> tuple[Path, Path]:
    """The path with /usr and without."""
    if path.is_relative_to("/usr"):
        return path, Path("/") / path.relative_to("/usr")
    return path, Path("/usr") / path.relative_to("/")


def _output(argv: list[str]) -> str:
    """Output of a query, which may fail for some of its arguments and answer for the others."""
    done = ask(argv, timeout_s=_TIMEOUT_S)
    return "" if done is None else done.stdout.decode(errors="replace")
