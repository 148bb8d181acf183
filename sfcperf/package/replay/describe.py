"""What a replay executes: lines for people, made from the workflow that is executed."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.package.modules import requirement_name
from sfcperf.package.opened import Package
from sfcperf.package.replay.packaged import PackagedModule
from sfcperf.package.replay.prepared import PreparedReplay
from sfcperf.results.provenance.files import digest as digest_of
from sfcperf.workflow.model import FunctionSpec, Scenario, Workflow
from sfcperf.workflow.plan import trial_group_s, trial_groups


def document_text(workflow: Workflow) -> str:
    """Return the document of a workflow as JSON: the text that the replay executes."""
    return json.dumps(workflow.document, ensure_ascii=False, allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def description(prepared: PreparedReplay) -> list[str]:
    """Describe a packaged run, as lines: its workflow, and the files and modules that it uses."""
    lines = [f"run {prepared.packaged.folder.name}: workflow {prepared.workflow.name}"]
    lines += [f"  {line}" for line in prepared.shown]
    modules = {path for module in prepared.modules for path in module.files}
    lines += [
        f"  file {path}, SHA-256 {sha256}"
        for path, sha256 in sorted(prepared.files.items())
        if path not in modules
    ]
    lines += module_lines(prepared.modules)
    lines += [
        f"module {module.distribution} {module.version}: in the package, not used, not imported"
        for module in prepared.unused
    ]
    return lines


def workflow_lines(workflow: Workflow) -> list[str]:
    """Describe everything that the workflow does, as lines. Of parameters, only those that differ
    from their defaults are shown (of publishers, all). Call it while the plug-ins with which the
    workflow was loaded are available (`plugins.further`)."""
    design = workflow.design
    lines = [f"workflow as executed: SHA-256 {digest(document_text(workflow))}"]
    for infrastructure in workflow.infrastructures:
        named = _plugin("driver", infrastructure.driver, infrastructure.config)
        lines.append(f"driver: {named}")
    if workflow.variants:
        lines.append(f"variants: {', '.join(variant.name for variant in workflow.variants)}")
    again = "" if design.stop_when is None else f", up to {design.stop_when.max_rounds}"
    warmup = f" and {design.warmup_rounds} for warm-up" if design.warmup_rounds else ""
    lines.append(f"scenarios: {len(workflow.scenarios)}, rounds: {design.rounds}{again}{warmup}")
    rounds = design.rounds + design.warmup_rounds
    # Without what further rounds may add. Not a number if a stand-in cannot tell its duration.
    seconds = rounds * sum(trial_group_s(group) for group in trial_groups(workflow, 1))
    if not math.isnan(seconds):
        lines.append(f"estimated time: {seconds:.0f} s")
    lines += dict.fromkeys(line for each in workflow.scenarios for line in _scenario_lines(each))
    lines += program_lines(workflow)
    if design.sentinel is not None:
        probe = design.sentinel.probe
        lines.append(f"sentinel {_plugin('probe', probe.probe, probe.parameters)}")
    lines += [
        f"service {each.name}: {_plugin('service', each.service, each.parameters)}"
        for each in workflow.services
    ]
    lines += [
        f"analysis {_plugin('analysis', each.name, each.parameters)}" for each in workflow.analyses
    ]
    lines += [f"publisher {each.name} {_value(each.parameters)}" for each in workflow.publish]
    return lines


def _scenario_lines(scenario: Scenario) -> Iterator[str]:
    """Describe a scenario as lines. Scenarios share many: the caller shows each line once."""
    names = " -> ".join(function.vnf for function in scenario.chain.functions)
    topology = scenario.topology
    yield f"topology {topology.name}: {', '.join(node.name for node in topology.nodes)}"
    yield f"chain: {names or 'none'}"
    for function in scenario.chain.functions:
        yield f"VNF {function_text(function)}"
    for endpoint in (scenario.client, scenario.server):
        if endpoint.address is not None or endpoint.options:
            options = _value(endpoint.options) if endpoint.options else ""
            yield f"{endpoint.name} {endpoint.address or ''} {options}".strip()
    for probe in scenario.probes:
        yield f"probe {probe.label}: {_plugin('probe', probe.probe, probe.parameters)}"
    for monitor in scenario.monitors:
        yield f"monitor {_plugin('monitor', monitor.monitor, monitor.parameters)}"


def function_text(function: FunctionSpec) -> str:
    """Describe the VNF of a function: its type, knobs, resources and descriptor."""
    resources = f"{function.resources.vcpus} vCPU, {function.resources.memory_mib} MiB"
    file = f", descriptor {function.vnfd.name}" if function.vnfd is not None else ""
    kind = _plugin("vnf", function.type, function.knobs_as_written)
    return f"{function.vnf}: {kind} ({resources}{file})"


def program_lines(workflow: Workflow) -> list[str]:
    """Describe the commands and files that knobs of VNFs name, as lines: a section for each VNF.
    Nothing is run."""
    files = {path: f"file {path}: {_digest_text(file)}" for path, file in workflow.files.items()}
    sections: dict[str, dict[str, None]] = {}
    for function in workflow.functions:
        stated = plugins.load("vnf", function.type).commands(function.knobs)
        # Paths as the workflow has them, which are the same on any machine.
        written = {str(file): path for path, file in function.located.items()}
        lines = [
            f"{place}: {shlex.join(written.get(word, word) for word in argv)}"
            for place, argv in stated
        ]
        lines += [files[path] for path in function.located]
        sections.setdefault(function.vnf, {}).update(dict.fromkeys(lines))
    return [
        text
        for vnf, found in sections.items()
        if found
        for text in (f"program {vnf}", *(f"  {line}" for line in found))
    ]


def _digest_text(file: Path) -> str:
    """Return size and SHA-256 of a file in words, or why it cannot be read."""
    try:
        size, sha256 = digest_of(file)
    except InputError as error:
        return error.message
    return f"{count_text(size, 'byte')}, SHA-256 {sha256}"


def _plugin(kind: str, name: str, parameters: Mapping[str, Any]) -> str:
    """Return a plug-in's name, its parameters that differ from the defaults, and its distribution
    if that is not SFCPerf."""
    known = plugins.load(kind, name).parameters.get("properties", {})
    values = {
        key: value
        for key, value in parameters.items()
        if "default" not in known.get(key, {}) or known[key]["default"] != value
    }
    origin = plugins.package(kind, name)
    text = name + (f" {_value(values)}" if values else "")
    if origin is None or origin[0] == plugins.OWN:
        return text
    return f"{text} from {origin[0]} {origin[1]}"


def module_lines(modules: Sequence[PackagedModule]) -> list[str]:
    """Describe the code of the package that a replay imports, with its hash."""
    lines = []
    for module in modules:
        lines.append(f"module {module.distribution} {module.version} from the package")
        lines += [f"  {kind} {name}: {value}" for kind, name, value in module.plugins]
        lines.append(f"  imported as {', '.join(module.names)}")
        lines.append(
            f"  {count_text(len(module.files), 'file')} in {module.folder}, SHA-256 {module.sha256}"
        )
        here = _version(module.distribution)
        if here is not None:
            lines.append(f"  installed here: {here}; a replay takes the one from the package")
    return lines or ["modules: none but those that are installed here"]


def missing_requirements(
    package: Package, modules: Sequence[PackagedModule]
) -> list[tuple[str, str]]:
    """Return each requirement of these modules that is not installed here, as pairs of the module's
    distribution and the requirement. Versions are not compared."""
    used = {module.folder for module in modules}
    return [
        (module["distribution"], requirement)
        for module in package.document["modules"]
        if module["folder"] in used
        for requirement in module["requires"]
        if _version(requirement_name(requirement)) is None
    ]


def _value(value: Any) -> str:
    """Return a value as JSON, never shortened: a user must see all that is executed."""
    return json.dumps(value, ensure_ascii=False)


def _version(distribution: str) -> str | None:
    """Version of a distribution that is installed here; None if it is not installed."""
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None
