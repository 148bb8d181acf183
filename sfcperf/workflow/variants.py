"""Variants: one workflow, measured in several forms side by side (an interleaved A/B comparison).

Each variant is the document with some values changed, expanded and checked like a workflow of its
own. What is wrong with one of them is told where the user mends it: at the change, or in the
document that all of them share.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow import pointer
from sfcperf.workflow.expand import VARYING
from sfcperf.workflow.findings import Findings, listing
from sfcperf.workflow.model import Variant
from sfcperf.workflow.overrides import Override, apply, override_path

LEVEL = "variant"
"""Name under which a scenario's levels tell its variant."""

SECTIONS = ("infrastructure", *VARYING)
"""What may differ: all that a scenario is made of."""

_DRIVER = ("infrastructure", "driver")


def read_variants(document: Mapping[str, Any], findings: Findings) -> tuple[Variant, ...]:
    """The variants of a document whose `variants` fit the schema; the first is the baseline."""
    given = document.get("variants", {})
    factors = document.get("factors")
    if given and isinstance(factors, dict) and LEVEL in factors:
        findings.add(
            f"/factors/{LEVEL}",
            f"a factor cannot be named {LEVEL!r} beside `variants`: results show the variants so",
            hint="give it another name",
        )
    for name, changes in given.items():
        _check_paths(name, changes, findings)
    return tuple(Variant(name, changes) for name, changes in given.items())


def document_of(document: Mapping[str, Any], variant: Variant) -> dict[str, Any]:
    """The document of one variant, without `variants`.

    Another driver than the document's starts from its own defaults, as with `--driver`: the
    document's `infrastructure.config` was meant for the document's driver. Raises WorkflowError
    for a change that has no place.
    """
    result = deepcopy({key: item for key, item in document.items() if key != "variants"})
    overrides = _overrides(variant)
    for _, override in overrides:
        if override.path == _DRIVER and _names_another_driver(result, override.value):
            result["infrastructure"] = {"driver": override.value}
    for path, override in overrides:
        try:
            apply(result, override)
        except InputError as error:
            raise WorkflowError(
                error.message,
                where=pointer.to_pointer(("variants", variant.name, path)),
                allowed=error.allowed,
                hint=error.hint,
            ) from None
    return result


def blame(
    document: Mapping[str, Any],
    variants: tuple[Variant, ...],
    errors: Mapping[str, WorkflowError],
) -> Findings:
    """What is wrong with variants, with pointers into the document that they share.

    `errors`: name of the variant -> what is wrong, with pointers into the variant's own document.
    What is wrong without any change, or with all of them, is told once, in the document's place.
    """
    told = {
        name: {(finding.where, finding.message) for finding in (error, *error.others)}
        for name, error in errors.items()
    }
    unchanged = [variant.name for variant in variants if not variant.changes]
    findings = Findings()
    for variant in variants:
        error = errors.get(variant.name)
        for finding in () if error is None else (error, *error.others):
            key = (finding.where, finding.message)
            shared = any(key in told.get(name, ()) for name in unchanged)
            shared = shared or all(key in told.get(each.name, ()) for each in variants)
            where, message = _place(document, variant, finding, shared=shared)
            findings.add(where, message, allowed=finding.allowed, hint=finding.hint)
    return findings


def _check_paths(name: str, changes: Mapping[str, Any], findings: Findings) -> None:
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
                findings.add(where, f"this overwrites the change {other!r} before it")
        seen[path] = text


def _overrides(variant: Variant) -> list[tuple[str, Override]]:
    """The changes of a variant in order, each with its path as written."""
    return [
        (text, Override(override_path(text, text), deepcopy(value), text))
        for text, value in variant.changes.items()
    ]


def _names_another_driver(document: Mapping[str, Any], driver: Any) -> bool:
    infrastructure = document.get("infrastructure")
    return isinstance(infrastructure, dict) and infrastructure.get("driver") != driver


def _place(
    document: Mapping[str, Any], variant: Variant, finding: WorkflowError, *, shared: bool
) -> tuple[str, str]:
    """Where the user mends a finding, and its message."""
    where = finding.where or ""
    if where and not where.startswith("/"):
        return where, f"{finding.message} (variant {variant.name})"
    parts = pointer.parts(where)
    changes = [(text, override.path) for text, override in _overrides(variant)]
    for text, path in reversed(changes):
        if _leads_to(path, parts, document):
            inside = ("variants", variant.name, text, *parts[len(path) :])
            return pointer.to_pointer(inside), finding.message
    if shared and _exists(document, parts[:-1]):
        return where, finding.message
    own: tuple[str, ...] = ("variants", variant.name)
    near = [text for text, path in changes if len(changes) == 1 or path[:1] == parts[:1]]
    if len(near) == 1:
        own = (*own, near[0])
    return pointer.to_pointer(own), f"{finding.message} (at {where or 'the document'})"


def _leads_to(path: tuple[str, ...], parts: tuple[str, ...], document: Mapping[str, Any]) -> bool:
    """Whether a place is that of a change or inside of it; `-` is an item that was appended."""
    if len(path) > len(parts) or path[:-1] != parts[: len(path) - 1]:
        return False
    step, part = path[-1], parts[len(path) - 1]
    return step == part or (
        step == "-" and part.isdigit() and not _exists(document, parts[: len(path)])
    )


def _exists(document: Any, parts: tuple[str, ...]) -> bool:
    for part in parts:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return False
    return True
