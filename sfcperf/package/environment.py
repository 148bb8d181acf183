"""Versions of what is installed here: Python packages, and Debian packages of the tools."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

from sfcperf.environment.questions import ask
from sfcperf.environment.tools import find
from sfcperf.results.provenance import TOOLS

_TIMEOUT_S = 20.0


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
    dpkg = find("dpkg-query")
    tools = [path for argv in TOOLS.values() if (path := find(argv[0])) is not None]
    if dpkg is None or not tools:
        return ""
    # A tool may be a link (Debian's alternatives, merged /usr); dpkg knows either name.
    paths = {str(p) for t in tools for p in (Path(t), Path(t).resolve()) for p in _both(p)}
    owners = _output([dpkg, "--search", *sorted(paths)])
    # A line is `PACKAGE: /PATH`, or `PACKAGE, PACKAGE: /PATH`.
    packages = {line.partition(": ")[0] for line in owners.splitlines() if ": /" in line}
    names = sorted({name.strip() for group in packages for name in group.split(",")})
    if not names:
        return ""
    shown = _output([dpkg, "--show", "--showformat=${Package} ${Version}\\n", *names])
    return "".join(f"{line}\n" for line in sorted(shown.splitlines()))


def _both(path: Path) -> tuple[Path, Path]:
    """Return a path as it is, and its other form: without a leading /usr, or with one added."""
    if path.is_relative_to("/usr"):
        return path, Path("/") / path.relative_to("/usr")
    return path, Path("/usr") / path.relative_to("/")


def _output(argv: list[str]) -> str:
    """Return the output of a query, whatever its exit code: dpkg-query fails when it does not know
    one argument, and still answers for the others. Empty if it gave no answer."""
    done = ask(argv, timeout_s=_TIMEOUT_S)
    return "" if done is None else done.stdout.decode(errors="replace")
