"""Debian packages that installed files belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sfcperf.environment.questions import ask
from sfcperf.environment.tools import find

_TIMEOUT_S = 20.0


def package_versions(files: Iterable[str]) -> dict[str, str]:
    """Return file -> `PACKAGE VERSION` for those of the files that belong to a Debian package.
    Empty where there is no dpkg. It takes about 0.1 s."""
    dpkg = find("dpkg-query")
    names = {file: list(_names(Path(file))) for file in files}
    if dpkg is None or not names:
        return {}
    found = _output([dpkg, "--search", *sorted({name for each in names.values() for name in each})])
    # A line is `PACKAGE: /PATH`, `PACKAGE, PACKAGE: /PATH`, or `diversion by ... to: /PATH`.
    lines = (line.partition(": ") for line in found.splitlines() if ": /" in line)
    owners = {
        path: packages.partition(",")[0]
        for packages, _, path in lines
        if not packages.startswith("diversion by ")
    }
    if not owners:
        return {}
    form = "--showformat=${binary:Package} ${Version}\\n"
    shown = _output([dpkg, "--show", form, *sorted(set(owners.values()))])
    versions = dict(line.split(" ", 1) for line in shown.splitlines() if " " in line)
    packages = {
        file: next((owners[name] for name in each if name in owners), "")
        for file, each in names.items()
    }
    return {
        file: f"{package} {versions[package]}"
        for file, package in packages.items()
        if package in versions
    }


def _names(file: Path) -> Iterator[str]:
    """Yield the names under which dpkg may know a file: it may be a link (Debian's alternatives),
    and be listed without the leading /usr of a system with merged folders."""
    for path in (file, file.resolve()):
        yield str(path)
        if path.is_relative_to("/usr"):
            yield str(Path("/") / path.relative_to("/usr"))
        else:
            yield str(Path("/usr") / path.relative_to("/"))


def _output(argv: list[str]) -> str:
    """Return the output of a query, whatever its exit code: dpkg-query fails when it does not know
    one argument, and still answers for the others. Empty if it gave no answer."""
    done = ask(argv, timeout_s=_TIMEOUT_S)
    return "" if done is None else done.stdout.decode(errors="replace")
