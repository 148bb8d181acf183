"""What a replay of a package would execute, from its documents alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sfcperf.package.modules import requirement_name
from sfcperf.package.opened import Package
from sfcperf.results.store import RunStore

_SHOWN = 120
"""Characters of a value."""


def description(package: Package, stores: list[RunStore]) -> list[str]:
    """Lines for people, with whatever characters the package has in its names: workflows, drivers,
    modules, VNFs with descriptors and knobs, probes."""
    lines: list[str] = []
    for store in stores:
        lines += _run_lines(package, store)
    return [*lines, *_module_lines(package)]


def missing_requirements(package: Package) -> list[tuple[str, str]]:
    """Plug-ins in the package, and what each needs that is not installed here."""
    return [
        (module["distribution"], requirement)
        for module in package.document["modules"]
        for requirement in module["requires"]
        if _version(requirement_name(requirement)) is None
    ]


def _run_lines(package: Package, store: RunStore) -> Iterator[str]:
    manifest, plan = store.manifest(), store.plan()
    document, _ = store.workflow()
    yield f"run {manifest['run_id']}: workflow {manifest['name']}"
    yield f"  driver: {_drivers(manifest, document)}"
    yield f"  scenarios: {len(manifest['scenarios'])}, rounds: {manifest['design']['rounds']}"
    if isinstance(plan.get("estimated_s"), int | float):
        yield f"  estimated time, as packed: {plan['estimated_s']:.0f} s"
    for function in _functions(plan.get("resolved")):
        yield f"  VNF {function}"
    for label, probe in {each["label"]: each["probe"] for each in manifest["probes"]}.items():
        yield f"  probe {label} ({probe})"
    for monitor in manifest["monitors"]:
        yield f"  monitor {monitor['monitor']}"
    for run in package.document["runs"]:
        if run["folder"].endswith(f"/{store.folder.name}"):
            for file in run["workflow_files"]:
                yield f"  file {file}"
    left = [kind for kind in ("analyses", "publish") if document.get(kind)]
    if left:
        yield "  left out: analyses and publishers; a replay makes summary and report"


def _drivers(manifest: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    config = document.get("infrastructure", {}).get("config", {})
    variants = manifest.get("variants") or []
    more = f"; variants: {', '.join(str(v.get('name')) for v in variants)}" if variants else ""
    return f"{manifest['driver']} {_value(config)}{more}"


def _functions(resolved: Any) -> list[str]:
    """Each VNF once, with its type, knobs and descriptor."""
    found: dict[str, None] = {}
    for scenario in resolved.values() if isinstance(resolved, dict) else ():
        for function in scenario.get("chain", {}).get("functions", ()):
            vnfd = function.get("vnfd") or {}
            file = f", descriptor {vnfd.get('file')}" if vnfd else ""
            knobs = f", knobs {_value(function.get('knobs'))}" if function.get("knobs") else ""
            found[f"{function.get('vnf')}: {function.get('type')}{knobs}{file}"] = None
    return list(found)


def _module_lines(package: Package) -> Iterator[str]:
    for module in package.document["modules"]:
        provides = ", ".join(f"{p['kind']} {p['name']}" for p in module["provides"])
        yield f"module {module['distribution']} {module['version']} from the package: {provides}"
        here = _version(module["distribution"])
        if here is not None:
            yield f"  installed here: {here}; a replay takes the one from the package"
    for module, requirement in missing_requirements(package):
        yield f"  {module} needs {requirement}, which is not installed here"
    if not package.document["modules"]:
        yield "modules: none but SFCPerf's own"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None
