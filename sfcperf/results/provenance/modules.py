"""Modules of a run: which plug-ins it used, and where their code is.

SFCPerf's own plug-ins are identified by its version. Of others, the files are listed with their
SHA-256, so that a package of the run can include them and a reader can compare them with his own.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.model import Workflow

_RELEASE = "sfcperf"
"""Distribution whose plug-ins are part of the release."""


def modules_of(workflow: Workflow) -> list[dict[str, Any]]:
    """Describe each plug-in that a run of the workflow uses, for `modules` of run.json.

    `release` is whether it comes with SFCPerf. For others, `root` is the folder from which they
    were imported, and `files` are all files of their top-level package (or the single module),
    with paths relative to it.
    """
    return [_described(kind, name) for kind, name in dict.fromkeys(plugins_of(workflow))]


def plugins_of(workflow: Workflow) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each plug-in that a run of the workflow uses; some more than once."""
    for infrastructure in workflow.infrastructures:
        yield "driver", infrastructure.driver
    for scenario in workflow.scenarios:
        for function in scenario.chain.functions:
            yield "vnf", function.type
        for probe in scenario.probes:
            for name in probe.plugins:
                yield "probe", name
        for monitor in scenario.monitors:
            yield "monitor", monitor.monitor
    for service in workflow.services:
        yield "service", service.service
    yield "analysis", "summary"
    for analysis in workflow.analyses:
        yield "analysis", analysis.name
    for publisher in workflow.publish:
        yield "publisher", publisher.name


def _described(kind: str, name: str) -> dict[str, Any]:
    """Return the entry of one plug-in in `modules` of run.json."""
    plugin = plugins.load(kind, name)
    package = plugins.package(kind, name)
    release = package is not None and package[0] == _RELEASE
    entry: dict[str, Any] = {
        "kind": kind,
        "name": name,
        "object": f"{plugin.__module__}:{plugin.__qualname__}",
        "package": None if package is None else {"name": package[0], "version": package[1]},
        "release": release,
    }
    return entry if release else {**entry, **_code(plugin)}


@cache
def _code(plugin: type) -> dict[str, Any]:
    """Return folder and files of a plug-in's code. This is cached: the process does not import the
    code again, so that what it executes stays the same."""
    top = sys.modules.get(plugin.__module__.partition(".")[0])
    initial = getattr(top, "__file__", None)
    if initial is not None and Path(initial).name.startswith("__init__."):
        root, files = Path(initial).parents[1], _sources(Path(initial).parent)
    else:
        # A module without a package, or one in a namespace package that others share.
        file = Path(inspect.getfile(plugin))
        root, files = file.parents[plugin.__module__.count(".")], [file]
    return {
        "root": str(root),
        "files": [{"path": str(file.relative_to(root)), "sha256": _sha256(file)} for file in files],
    }


def _sources(package: Path) -> list[Path]:
    """Return all files in a package's folder that Python did not compile itself."""
    files = sorted(path for path in package.rglob("*") if path.is_file())
    return [f for f in files if "__pycache__" not in f.parts and f.suffix != ".pyc"]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
