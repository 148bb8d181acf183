"""Programs of this machine that functions run: which files they are, and of which packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.environment.debian_packages import package_versions
from sfcperf.environment.tools import find
from sfcperf.errors import InputError
from sfcperf.results.provenance.files import digest
from sfcperf.workflow.model import FunctionSpec


def programs_of(functions: Iterable[FunctionSpec]) -> list[dict[str, Any]]:
    """Return an entry for each program that functions call, for `programs` of run.json: `name` as
    they call it, `path`, `bytes`, `sha256`, and `package`, its Debian package with version; None if
    it is of none. No program is run. Those that are not there are left out, and those that come
    with SFCPerf or with the workflow."""
    names = dict.fromkeys(name for function in functions for name in _names(function))
    paths = {name: path for name in names if (path := _path(name)) is not None}
    packages = package_versions(paths.values())
    entries = []
    for name, path in paths.items():
        try:
            size, sha256 = digest(Path(path))
        except InputError:
            continue  # whoever needs it will say why it cannot be used
        package = packages.get(path)
        entry = {"name": name, "path": path, "bytes": size, "sha256": sha256, "package": package}
        entries.append(entry)
    return entries


def _names(function: FunctionSpec) -> Iterator[str]:
    """Yield the programs of a function that do not come with the workflow."""
    located = set(map(str, function.located.values()))
    for name in plugins.load("vnf", function.type).programs(function.knobs):
        if name not in located:
            yield name


def _path(name: str) -> str | None:
    """Return the path of a command; None if there is none."""
    if "/" not in name:
        return find(name)
    return name if Path(name).is_file() else None
