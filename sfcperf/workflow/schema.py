"""The effective schema: the workflow's own schema with the parameters of plug-ins.

A plug-in's schema is put into `$defs` as `KIND.NAME`. `if`/`then` ties it to the key that names the
plug-in, so that `{"probe": "ping", "count": 20}` is checked against the parameters of `ping`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from sfcperf import plugins
from sfcperf.errors import SfcperfError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import pointer
from sfcperf.workflow.validate import PLUGIN_KIND, Validator
from sfcperf.workflow.varying import with_references, without_references

Schema = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """A part of the workflow in which a plug-in of one kind is chosen."""

    kind: str
    """Kind of plug-in."""
    definition: str
    """Name of the part in `$defs` of the workflow schema."""
    selector: str
    """Key that names the plug-in."""
    parameters: str | None
    """Key that contains the plug-in's parameters; None: they are next to the selector."""
    section: str
    """Top-level key of the part. It is a list of choices, an object of them (VNFs, services), or a
    single choice (driver)."""


SLOTS = (
    Slot("driver", "infrastructure", "driver", "config", "infrastructure"),
    Slot("vnf", "vnf", "type", "knobs", "vnfs"),
    Slot("probe", "probe", "probe", None, "probes"),
    Slot("monitor", "monitor", "monitor", None, "monitors"),
    Slot("service", "service", "service", None, "services"),
    Slot("publisher", "publisher", "to", None, "publish"),
    Slot("analysis", "analysis", "analysis", None, "analyses"),
)


def effective_schema() -> Schema:
    """Make the workflow schema with all installed plug-ins, as a document for editors and docs.

    `${factor}` is accepted wherever a value may vary. Every plug-in class is loaded.
    """
    every = [(slot.kind, name) for slot in SLOTS for name in plugins.names(slot.kind)]
    return with_references(compose(every))


@cache
def shipped_schema(name: str) -> Schema:
    """Read `schemas/NAME.schema.json`. The result is cached: do not change it."""
    schema: Schema = json.loads((files("sfcperf.schemas") / f"{name}.schema.json").read_text())
    return schema


@cache
def own_schema() -> Schema:
    """The workflow schema without any plug-in and without references. The result is cached: do not
    change it."""
    return without_references(shipped_schema("workflow"))


def compose(used: Iterable[tuple[str, str]]) -> Schema:
    """Make the workflow schema with the parameters of some plug-ins, given as (kind, name).

    All installed names are allowed in it, but only these plug-ins are imported and described.
    Raises EnvironmentLacks when one cannot be imported, SfcperfError when its schema is wrong.
    """
    own = own_schema()
    definitions = dict(own["$defs"])
    for slot in SLOTS:
        own_keys = dict(definitions[slot.definition]["properties"])
        names = list(plugins.names(slot.kind))
        selector = {**own_keys[slot.selector], "enum": names, PLUGIN_KIND: slot.kind}
        own_keys[slot.selector] = selector
        # Where parameters are next to the selector, each plug-in's schema lists all keys that are
        # allowed with it.
        keys = {slot.selector: selector} if slot.parameters is None else own_keys
        definition = definitions[slot.definition] = {
            **definitions[slot.definition],
            "properties": keys,
        }
        choices = []
        for kind, name in sorted(set(used)):
            if kind == slot.kind:
                key = f"{kind}.{name}"
                definitions[key] = _plugin_schema(slot, name, own_keys)
                choices.append(_choice(slot, name, key, definitions[key]))
        if choices:  # JSON Schema allows no empty `allOf`
            definition["allOf"] = choices
    return {**own, "$defs": definitions}


def parameters_of(kind: str, name: str) -> Mapping[str, Any]:
    """Return the checked schema of a plug-in's parameters.

    Raises EnvironmentLacks when the plug-in cannot be imported, SfcperfError when its schema is
    wrong.
    """
    plugin = plugins.load(kind, name)
    _check(plugin, kind, name)
    parameters: Mapping[str, Any] = plugin.parameters
    return parameters


def parameters_with_defaults(kind: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of a plug-in's schema in its valid parameters. Raises what
    `parameters_of` raises."""
    return with_defaults(parameters_of(kind, name), values)


@cache
def _metaschema() -> Validator:
    return Validator({"$ref": "https://json-schema.org/draft/2020-12/schema"})


@cache
def _check(plugin: Any, kind: str, name: str) -> None:
    """Raise SfcperfError when a plug-in's schema is not a valid JSON Schema."""
    for wrong in _metaschema().misfits(plugin.parameters):
        raise SfcperfError(
            f"the {kind} plug-in {name!r} declares a wrong schema: {wrong.message}",
            where=f"{plugin.__name__}.parameters{pointer.to_pointer(wrong.path)}",
            allowed=wrong.allowed,
            hint="report this to its author",
        )


def _plugin_schema(slot: Slot, name: str, own_keys: Mapping[str, Any]) -> Schema:
    """Schema of a plug-in's parameters. If they are next to the selector, it also has the
    workflow's own keys of that object (`own_keys`)."""
    key = f"{slot.kind}.{name}"
    parameters: Schema = _rebased(parameters_of(slot.kind, name), f"#/$defs/{key}")
    parameters.setdefault("type", "object")
    if slot.parameters is None:
        foreign = parameters.get("properties", {})
        clash = sorted(own_keys.keys() & foreign.keys())
        if clash:
            raise SfcperfError(
                f"the {slot.kind} plug-in {name!r} has a parameter {clash[0]!r}, "
                "which is a key of the workflow",
                hint="report this to its author",
            )
        parameters["properties"] = {**own_keys, **foreign}
    return parameters


def _choice(slot: Slot, name: str, key: str, parameters: Schema) -> Schema:
    """The `if`/`then` that ties the name of a plug-in to the schema of its parameters."""
    then: Schema = {"$ref": f"#/$defs/{key}"}
    if slot.parameters is not None:
        then = {"properties": {slot.parameters: then}}
        # If a parameter is required, so is the key that contains it.
        if parameters.get("required"):
            then["required"] = [slot.parameters]
    return {
        "if": {"required": [slot.selector], "properties": {slot.selector: {"const": name}}},
        "then": then,
    }


def _rebased(value: Any, root: str) -> Any:
    """Copy a schema to another place: its local references (`#/...`) then start at `root`."""
    if isinstance(value, Mapping):
        return {
            key: root + item[1:]
            if key == "$ref" and isinstance(item, str) and item.startswith("#")
            else _rebased(item, root)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_rebased(item, root) for item in value]
    return value
