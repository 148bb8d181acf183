"""Varying: `${factor}` in the workflow schema: where it is accepted, and the schema without it.

A workflow is checked twice. Editors and other tools check it with references, by the shipped
schema. `load` checks it without, when every reference is replaced by its value. `with_references`
and `without_references` convert between the two schemas, each the inverse of the other.
"""

from __future__ import annotations

from typing import Any

from sfcperf.workflow.expand import VARYING

Schema = dict[str, Any]

REFERENCE = {"$ref": "#/$defs/reference"}
_DEFINITION = {
    "description": "Reference to a factor: `${name}` alone takes the level with its type; inside a "
    "longer string, the level is inserted as text.",
    "type": "string",
    "pattern": r"\$\{[^{}]+\}",
}


def with_references(schema: Schema) -> Schema:
    """Copy a workflow schema so that it accepts a reference for every value that may vary."""
    fixed = _definitions_outside(schema)
    definitions = {
        name: definition if name in fixed else _loosened(definition)
        for name, definition in schema["$defs"].items()
    }
    properties = {
        name: _or_reference(section) if name in VARYING else section
        for name, section in schema["properties"].items()
    }
    return {
        **schema,
        "properties": properties,
        "$defs": {"reference": dict(_DEFINITION), **definitions},
    }


def without_references(schema: Schema) -> Schema:
    """Copy a workflow schema so that it accepts only values, as in a workflow whose factors are
    expanded."""
    strict: Schema = _tightened(schema)
    del strict["$defs"]["reference"]
    return strict


def _tightened(value: Any) -> Any:
    """Replace each choice between a reference and a value by the value's schema."""
    if isinstance(value, list):
        return [_tightened(item) for item in value]
    if not isinstance(value, dict):
        return value
    tight = {key: _tightened(item) for key, item in value.items()}
    match tight.get("anyOf"):
        case [first, dict(strict)] if first == REFERENCE:
            del tight["anyOf"]
            return {**tight, **strict}
    return tight


def _loosened(schema: Any) -> Any:
    """Copy a schema so that it accepts a reference for every property, item and additional
    value."""
    if not isinstance(schema, dict):
        return schema
    loose = dict(schema)
    if "properties" in loose:
        loose["properties"] = {name: _or_reference(s) for name, s in loose["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(loose.get(key), dict):
            loose[key] = _or_reference(loose[key])
    for key in ("oneOf", "anyOf", "allOf"):
        if key in loose:
            loose[key] = [_loosened(sub) for sub in loose[key]]
    if "then" in loose:
        loose["then"] = _loosened(loose["then"])
    if "else" in loose:
        # With a reference, it is not known yet whether the condition holds. So the `else` applies
        # only to values that cannot fulfil the condition, whatever a reference stands for.
        otherwise = {"if": _loosened(loose["if"]), "else": _loosened(loose.pop("else"))}
        loose["allOf"] = [*loose.get("allOf", ()), otherwise]
    return loose


def _or_reference(schema: Any) -> Schema:
    """A schema that accepts a reference, or a value that fits `schema` with references inside. The
    description stays outside of the choice."""
    loose = _loosened(schema)
    if isinstance(loose, dict) and "description" in loose:
        description = loose.pop("description")
        return {"description": description, "anyOf": [dict(REFERENCE), loose]}
    return {"anyOf": [dict(REFERENCE), loose]}


def _definitions_outside(schema: Schema) -> set[str]:
    """Names of the definitions that no varying section uses, directly or through others."""
    inside: set[str] = set()
    # The definition of each of these sections has the section's name.
    waiting = list(VARYING)
    while waiting:
        name = waiting.pop()
        if name not in inside:
            inside.add(name)
            waiting += _definitions_in(schema["$defs"][name])
    return set(schema["$defs"]) - inside


def _definitions_in(value: Any) -> list[str]:
    """Names of the definitions that a part of a schema refers to."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        local = isinstance(reference, str) and reference.startswith("#/$defs/")
        found = [str(reference).split("/")[2]] if local else []
        return found + [name for item in value.values() for name in _definitions_in(item)]
    if isinstance(value, list):
        return [name for item in value for name in _definitions_in(item)]
    return []
