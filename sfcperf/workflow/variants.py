"""Variants: one workflow that is measured with different values side by side."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from math import prod
from typing import Any

from sfcperf import plugins
from sfcperf.errors import InputError, WorkflowError, errors_as
from sfcperf.workflow.check import section_misfits
from sfcperf.workflow.document import Findings, listing, pointer
from sfcperf.workflow.document.limits import MAX_EXPANDED, size
from sfcperf.workflow.expand import MAX_SCENARIOS, VARYING
from sfcperf.workflow.model import ProbeSpec, Variant
from sfcperf.workflow.overrides import Override, apply, override_path
from sfcperf.workflow.references import Level
from sfcperf.workflow.scenarios import ScenarioSet

LEVEL = "variant"
"""Name of the level that says which variant a scenario belongs to."""

SECTIONS = ("infrastructure", *VARYING)
"""Sections that may differ between variants: those that make a scenario."""

UNCHANGED = Variant("", {})
"""Stands for the whole workflow if that has no variants."""

_DRIVER = ("infrastructure", "driver")


def read_variants(document: Mapping[str, Any]) -> tuple[Variant, ...]:
    """Read the variants of a document, the baseline first; empty if it has none. Raises
    WorkflowError, also if they would have too many scenarios or values."""
    findings = Findings()
    findings.add_misfits(section_misfits(document, "variants"))
    findings.raise_any()
    changes_of = document.get("variants", {})
    factors = document.get("factors")
    if changes_of and isinstance(factors, dict) and LEVEL in factors:
        findings.add(
            f"/factors/{LEVEL}",
            f"with `variants`, a factor cannot be named {LEVEL!r}, which names the variants in "
            "results",
            hint="give it another name",
        )
    for name, changes in changes_of.items():
        _check_paths(name, changes, findings)
    findings.raise_any()
    variants = tuple(Variant(name, changes) for name, changes in changes_of.items())
    _check_size(document, variants)
    return variants


def _check_size(document: Mapping[str, Any], variants: tuple[Variant, ...]) -> None:
    """Raise WorkflowError if the variants together are too large: each has a copy of the
    document."""
    factors = document.get("factors")
    levels = factors.values() if isinstance(factors, dict) else ()
    scenarios = prod(len(each) for each in levels if isinstance(each, list))
    if scenarios * len(variants) > MAX_SCENARIOS:
        raise WorkflowError(
            f"{len(variants)} variants x {scenarios} scenarios are "
            f"{scenarios * len(variants)} scenarios",
            where="/variants",
            allowed=f"up to {MAX_SCENARIOS} scenarios in one workflow",
        )
    values = size({key: item for key, item in document.items() if key != "variants"})
    if values * len(variants) > MAX_EXPANDED:
        raise WorkflowError(
            f"{len(variants)} variants of {values} values are {values * len(variants)} values",
            where="/variants",
            allowed=f"up to {MAX_EXPANDED} values",
        )


def document_of(document: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    """Make the document of one variant, without `variants`.

    A driver other than the document's starts from its own defaults, as with `--driver`, because the
    document's `infrastructure.config` is for the document's driver. Raises WorkflowError for a
    change of a path that does not exist.
    """
    result = deepcopy({key: item for key, item in document.items() if key != "variants"})
    overrides = _overrides(variant)
    # The driver comes first, because choosing one drops the configuration that others may change.
    for _, override in overrides:
        own, driver = result.get("infrastructure"), override.value
        if override.path == _DRIVER and isinstance(own, dict) and own.get("driver") != driver:
            result["infrastructure"] = {"driver": driver}
    for path, override in overrides:
        where = pointer.to_pointer(("variants", variant.name, path))
        with errors_as(WorkflowError, InputError, where=where):
            apply(result, override)
    return result


def in_shared_document(
    document: Mapping[str, Any],
    variants: tuple[Variant, ...],
    errors: Mapping[str, WorkflowError],
) -> Findings:
    """Collect the errors of variants with pointers into the document that they share.

    `errors`: name of the variant -> errors with pointers into the variant's own document. An error
    that also occurs without any change, or in all variants, is reported once, at its place in the
    document.
    """
    findings = Findings()
    if not variants:
        for error in errors.values():
            findings.add_error(error)
        return findings
    keys = {
        name: {(finding.where, finding.message) for finding in error.all}
        for name, error in errors.items()
    }
    unchanged = [variant.name for variant in variants if not variant.changes]
    for variant in variants:
        for finding in errors[variant.name].all if variant.name in errors else ():
            key = (finding.where, finding.message)
            # Not the fault of changes: a variant without any has it too, or all variants have it.
            shared = any(key in keys.get(name, ()) for name in unchanged)
            shared = shared or all(key in keys.get(each.name, ()) for each in variants)
            where, message = _place(document, variant, finding, shared=shared)
            findings.add(where, message, finding.allowed, finding.hint)
    return findings


def _check_paths(name: str, changes: Mapping[str, Any], findings: Findings) -> None:
    """Report changes of a variant that lead to sections which cannot differ, or that overwrite
    earlier ones."""
    seen: dict[tuple[str, ...], str] = {}
    for text in changes:
        where = pointer.to_pointer(("variants", name, text))
        try:
            path = override_path(text, where)
        except InputError as error:
            findings.add(where, error.message, allowed=error.allowed)
            continue
        if path[0] not in SECTIONS:
            findings.add(
                where, f"{path[0]!r} is the same in all variants", allowed=listing(SECTIONS)
            )
        for earlier, other in seen.items():
            if earlier[: len(path)] == path and path[-1] != "-":
                findings.add(where, f"this overwrites the previous change {other!r}")
        seen[path] = text


def _overrides(variant: Variant) -> list[tuple[str, Override]]:
    """The changes of a variant as overrides, in order, each with its path as the user wrote it.
    Values are copied, because later overrides change what is inside of them."""
    return [
        (text, Override(override_path(text, text), deepcopy(value), text))
        for text, value in variant.changes.items()
    ]


def _place(
    document: Mapping[str, Any], variant: Variant, finding: WorkflowError, *, shared: bool
) -> tuple[str, str]:
    """Find where the user can correct an error of a variant's document. Returns a pointer into the
    shared document, and the message that fits there. `shared`: the error does not come from the
    variant's changes."""
    where = finding.where or ""
    if where and not where.startswith("/"):
        # Not a pointer: a file, for example.
        return where, f"{finding.message} (variant {variant.name})"
    parts = pointer.parts(where)
    if parts[:1] == ("variants",):
        return where, finding.message
    changes = [(text, override.path) for text, override in _overrides(variant)]
    # The last change of the place wins, so it is the one to correct.
    for text, path in reversed(changes):
        if _leads_to(path, parts, document):
            inside = ("variants", variant.name, text, *parts[len(path) :])
            return pointer.to_pointer(inside), finding.message
    if shared and _exists(document, parts[:-1]):
        return where, finding.message
    # The place is only in the variant's own document: name the one change that can have caused it,
    # or else the whole variant.
    own: tuple[str, ...] = ("variants", variant.name)
    near = [text for text, path in changes if len(changes) == 1 or path[:1] == parts[:1]]
    if len(near) == 1:
        own = (*own, near[0])
    return pointer.to_pointer(own), f"{finding.message} (at {where or 'the document'})"


def _leads_to(path: tuple[str, ...], parts: tuple[str, ...], document: Mapping[str, Any]) -> bool:
    """Whether `parts` is the path of a change, or a path inside of it. A `-` at the end of the
    change stands for an item that it appends."""
    if len(path) > len(parts) or path[:-1] != parts[: len(path) - 1]:
        return False
    step, part = path[-1], parts[len(path) - 1]
    return step == part or (
        step == "-" and pointer.is_index(part) and not _exists(document, parts[: len(path)])
    )


def _exists(document: Any, parts: tuple[str, ...]) -> bool:
    """Whether a path exists in the document."""
    return pointer.deepest(document, parts) == parts


def merge(sets: Mapping[str, ScenarioSet]) -> ScenarioSet:
    """Join the scenarios of all variants, and number them together. `variant` becomes the first of
    their levels, and varies slowest. The infrastructure is the baseline's."""
    baseline = next(iter(sets.values()))
    variants = tuple(Level(name, name, ("variants", name)) for name in sets)
    scenarios = [
        replace(
            scenario, levels={LEVEL: name, **scenario.levels}, infrastructure=own.infrastructure
        )
        for name, own in sets.items()
        for scenario in own.scenarios
    ]
    return ScenarioSet(
        baseline.infrastructure,
        {LEVEL: variants, **baseline.factors},
        tuple(replace(each, id=f"s{number:03d}") for number, each in enumerate(scenarios)),
        {path: file for own in sets.values() for path, file in own.descriptors.items()},
    )


def check_comparable(sets: Mapping[str, ScenarioSet]) -> dict[str, WorkflowError]:
    """Return name of the variant -> error, for each variant whose probes have other labels or
    metrics than those of the first variant. `sets`: by variant, the first one first. All variants
    have as many scenarios, in the same order, because the factors are the same."""
    (_, baseline), *others = sets.items()
    expected = [_reported(scenario.probes) for scenario in baseline.scenarios]
    errors: dict[str, WorkflowError] = {}
    for name, variant in others:
        findings = Findings()
        for of_first, scenario in zip(expected, variant.scenarios, strict=True):
            _check_probes(of_first, _reported(scenario.probes), findings)
        # One error is enough: in most cases, all scenarios have the same one.
        if first := next(iter(findings), None):
            errors[name] = first
    return errors


def _check_probes(
    expected: Mapping[str, frozenset[Any]],
    reported: Mapping[str, frozenset[Any]],
    findings: Findings,
) -> None:
    """Report probes of a variant whose labels or metrics differ from those of the first variant."""
    if expected.keys() != reported.keys():
        findings.add(
            "/probes",
            f"its probes are {listing(reported)}, but those of the first variant "
            f"{listing(expected)}: they cannot be compared",
            hint="give a probe with different parameters the same `name` in all variants",
        )
        return
    for label, metrics in expected.items():
        if reported[label] != metrics:
            findings.add(
                "/probes",
                f"the probe {label!r} reports {_names(reported[label])}, but that of the first "
                f"variant {_names(metrics)}: they cannot be compared",
                hint="give it another `name` in all variants, or the same parameters",
            )


def _reported(probes: tuple[ProbeSpec, ...]) -> dict[str, frozenset[Any]]:
    """Label of each probe -> its metrics with their units."""
    return {
        probe.label: frozenset(
            (metric.name, metric.unit)
            for metric in plugins.load("probe", probe.probe).metrics(probe.parameters)
        )
        for probe in probes
    }


def _names(metrics: frozenset[Any]) -> str:
    """Metrics with their units, for a message."""
    return listing(sorted(f"{name} ({unit})" for name, unit in metrics))
