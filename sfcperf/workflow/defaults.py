"""Fills in the defaults of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


def with_defaults(schema: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a valid object, and fill in the `default` of each property that is absent, in objects
    inside of it as well. Local references (`#/...`) start at `schema`."""
    filled: dict[str, Any] = _filled(schema, value, schema)
    return filled


def _filled(schema: Any, value: Any, root: Mapping[str, Any]) -> Any:
    """Copy a value with the defaults of its schema filled in; `root` is where local references
    start."""
    schema = _followed(schema, root)
    if not isinstance(schema, Mapping):
        return deepcopy(value)
    if isinstance(value, list | tuple):
        items = schema.get("items", {})
        return [_filled(items, item, root) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = {**schema.get("properties", {}), **_chosen_properties(schema, value)}
    filled = {key: _filled(properties.get(key, {}), item, root) for key, item in value.items()}
    for key, subschema in properties.items():
        subschema = _followed(subschema, root)
        if key not in filled and isinstance(subschema, Mapping) and "default" in subschema:
            filled[key] = _filled(subschema, subschema["default"], root)
    return filled


def _chosen_properties(schema: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of those branches of `allOf` that apply: their `if` names constants that the value
    has."""
    chosen: dict[str, Any] = {}
    for branch in schema.get("allOf", ()):
        fixed = branch.get("if", {}).get("properties", {})
        if fixed and all(
            "const" in rule and key in value and value[key] == rule["const"]
            for key, rule in fixed.items()
        ):
            then = branch.get("then", {}).get("properties", {})
            chosen |= {key: rule for key, rule in then.items() if isinstance(rule, Mapping)}
    return chosen


def _followed(schema: Any, root: Mapping[str, Any]) -> Any:
    """Replace a local reference by its target. Keys next to the reference take precedence."""
    if not isinstance(schema, Mapping) or not str(schema.get("$ref", "")).startswith("#/"):
        return schema
    target: Any = root
    for part in schema["$ref"].split("/")[1:]:
        target = target[part.replace("~1", "/").replace("~0", "~")]
    return {**target, **{key: item for key, item in schema.items() if key != "$ref"}}
