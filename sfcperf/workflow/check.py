"""Check: finds what does not fit the schema, with its place in the document.

The sections that change or expand the document (`presets`, `variants`, `factors`) are checked when
they are applied. All other sections are checked once, in every form that they take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sfcperf import plugins
from sfcperf.workflow.document import Findings, SchemaViolation
from sfcperf.workflow.expand import Expansion, Form
from sfcperf.workflow.noise_gate import sentinel_probe
from sfcperf.workflow.schema import SLOTS, Schema, Slot, own_schema
from sfcperf.workflow.validate import Validator


def section_misfits(document: Mapping[str, Any], section: str) -> list[SchemaViolation]:
    """Return what does not fit in a section that names no plug-in; nothing if the document lacks
    the section."""
    if section not in document:
        return []
    return _without_plugins().misfits({section: document[section]})


def check_outline(document: Mapping[str, Any], findings: Findings) -> None:
    """Find top-level keys that are unknown or missing. Raises WorkflowError if the factors do not
    fit: they are expanded next."""
    findings.add_misfits(_outline().misfits(document))
    wrong = section_misfits(document, "factors")
    findings.add_misfits(wrong)
    if wrong:
        findings.raise_any()


def check_sections(expansion: Expansion, schema: Schema, findings: Findings) -> None:
    """Check every form of every section. Raises WorkflowError with everything that was found."""
    validator = _of_sections(schema)
    for section, forms in expansion.forms.items():
        for form in forms.values():
            for misfit in validator.misfits({section: form.value}):
                where, levels = expansion.locate(misfit.path, form.levels)
                findings.add(where, misfit.message + levels, misfit.allowed, misfit.hint)
            if findings.are_many:
                break
    findings.raise_any()


@cache
def _outline() -> Validator:
    """Validator of the top-level keys, whatever their values are."""
    schema = own_schema()
    return Validator({**schema, "properties": dict.fromkeys(schema["properties"], True)})


@cache
def _without_plugins() -> Validator:
    """Validator of sections by the workflow's own schema, which describes no plug-in's
    parameters."""
    return _of_sections(own_schema())


def _of_sections(schema: Schema) -> Validator:
    """Validator of documents that may have any of the sections and need none."""
    return Validator({key: schema[key] for key in ("$schema", "properties", "$defs")})


def named_plugins(expansion: Expansion) -> set[tuple[str, str]]:
    """Collect (kind, name) of the installed plug-ins that a document names. The document may have
    errors."""
    named = {("probe", _name(sentinel_probe(expansion.document), "probe"))}
    for slot in SLOTS:
        for form in expansion.forms.get(slot.section, {}).values():
            named |= {(slot.kind, _name(entry, slot.selector)) for entry in _entries(slot, form)}
    return {(kind, name) for kind, name in named if name in plugins.names(kind)}


def _entries(slot: Slot, form: Form) -> Iterable[Any]:
    """Values in a form of a section that each choose a plug-in: the section itself, its items, or
    its values."""
    if slot.kind == "driver":
        return [form.value]
    if isinstance(form.value, dict):
        return form.value.values()
    return form.value if isinstance(form.value, list) else []


def _name(entry: Any, selector: str) -> str:
    """Name of the plug-in that an entry chooses; empty, which no plug-in is called, if it names
    none."""
    name = entry.get(selector) if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""
