"""`sfcperf show KIND NAME`: documentation of a plug-in, from its schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfcperf.cli.verbs.listing import KINDS
from sfcperf.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def show(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="driver, vnf, probe, monitor, analysis, service, publisher, workflow, topology or "
            "schema.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its name (`sfcperf list`).", show_default=False)
    ],
) -> None:
    """Show what a plug-in does, takes, reports and costs. Also shows shipped workflows,
    topologies, and the JSON Schema of workflows (`show schema workflow`)."""
    if kind in ("workflow", "workflows"):
        _show_workflow(name)
        return
    if kind in ("topology", "topologies"):
        _show_topology(name)
        return
    if kind in ("schema", "schemas"):
        _show_schema(name)
        return
    from inspect import cleandoc

    from sfcperf import plugins
    from sfcperf.cli.terminal.console import console as new_console
    from sfcperf.workflow.document.findings import did_you_mean

    kind = KINDS.get(kind, kind)
    try:
        plugin = plugins.load(kind, name)
    except InputError as error:
        if kind in plugins.GROUPS:
            error.hint = did_you_mean(name, plugins.names(kind)) or error.hint
        raise
    console = new_console()
    console.print(f"{kind} {name}: {plugin.title}")
    # Its own docstring: `plugin.__doc__` might be that of the base class.
    if own := plugin.__dict__.get("__doc__"):
        console.print(f"\n{cleandoc(own)}")
    if kind == "monitor":
        console.print(f"\nCost: {plugin.cost}")
    if kind == "vnf":
        aware = "NSH-aware" if plugin.nsh_aware else "not NSH-aware: it runs behind an SFC proxy"
        console.print(f"\n{aware}; interfaces: {plugin.interfaces}")
    _print_parameters(console, plugin.parameters)
    if kind == "probe":
        _print_metrics(console, plugin)


def _show_workflow(name: str) -> None:
    """Print the text of a shipped workflow, which is its best documentation."""
    from sfcperf.cli.shipped import shipped

    known = shipped()
    if name not in known:
        raise InputError(f"no shipped workflow is named {name!r}", allowed=", ".join(known))
    # The path goes to stderr, as stdout must be a workflow: `sfcperf show workflow quickstart >
    # mine.json`.
    print(known[name], file=sys.stderr)
    print(known[name].read_text().rstrip())


def _show_schema(name: str) -> None:
    """Print the JSON Schema of workflows with all installed plug-ins, for editors."""
    from sfcperf.workflow.schema import effective_schema

    if name != "workflow":
        raise InputError(f"no schema is named {name!r}", allowed="workflow")
    print(json.dumps(effective_schema(), indent=2))


def _show_topology(name: str) -> None:
    """Print what a preset of a topology stands for, as a workflow would write it out."""
    from sfcperf.workflow.topology import DESCRIPTIONS, PRESETS

    if name not in PRESETS:
        raise InputError(f"no topology is named {name!r}", allowed=", ".join(PRESETS))
    topology = PRESETS[name]
    written = {
        "name": name,
        "nodes": {node.name: {} for node in topology.nodes},
        "links": [{"between": list(link.between)} for link in topology.links],
        "placement": dict(topology.placement),
    }
    print(f"topology {name}: {DESCRIPTIONS[name]}\n")
    print(json.dumps({"topology": written}, indent=2))


def _print_parameters(console: Console, schema: Mapping[str, Any]) -> None:
    """Print a table of the parameters that a schema describes."""
    from rich.table import Table

    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if not properties:
        console.print("\nNo parameters.")
        return
    table = Table("parameter", "type", "default", "description", box=None, pad_edge=False)
    for row in _parameter_rows(schema):
        table.add_row(*row)
    console.print()
    console.print(table)


def _parameter_rows(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """Yield name, type, default and description of each parameter. After one that is an object, its
    keys follow, as `outer.key`, `outer[].key` (in a list) or `outer.NAME.key` (of any name). After
    one that chooses a plug-in, the parameters of each plug-in that may be chosen follow."""
    required = schema.get("required", ())
    for name, rule in schema["properties"].items():
        default = json.dumps(rule["default"]) if "default" in rule else ""
        default = "(required)" if name in required else default
        yield prefix + name, type_text(rule), default, str(rule.get("description", ""))
        for suffix, inner in _objects(rule):
            yield from _parameter_rows(inner, f"{prefix}{name}{suffix}.")
        # `if` says which plug-in is chosen, `then` has the schema of its parameters.
        for branch in rule.get("allOf", ()):
            chosen = branch["if"]["properties"]
            values = ", ".join(str(value["const"]) for value in chosen.values())
            others = {k: v for k, v in branch["then"]["properties"].items() if k not in chosen}
            then = {**branch["then"], "properties": others}
            yield from _parameter_rows(then, f"{prefix}{name} ({values}): ")


def _objects(rule: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the schemas of objects in a value: of itself, of its items, or of its entries of any
    name; each with what comes between the names of the value and of a key."""
    for suffix, inner in (
        ("", rule),
        ("[]", rule.get("items")),
        (".NAME", rule.get("additionalProperties")),
    ):
        if isinstance(inner, Mapping):
            for schema in (inner, *inner.get("anyOf", ()), *inner.get("oneOf", ())):
                if "properties" in schema:
                    yield suffix, schema


def _print_metrics(console: Console, probe: Any) -> None:
    """Print a table of the metrics that a probe reports with default parameters."""
    from rich.table import Table

    from sfcperf.workflow.defaults import with_defaults

    table = Table("metric", "unit", "better", "description", box=None, pad_edge=False)
    for metric in probe.metrics(with_defaults(probe.parameters, {})):
        name = f"{metric.name} *" if metric.primary else metric.name
        table.add_row(name, metric.unit, metric.better, metric.description)
    console.print()
    console.print(table)
    console.print("* primary: shown in the short table and used by sequential stopping")


def type_text(rule: Mapping[str, Any]) -> str:
    """Say in short what a value may be, such as `integer >= 1`, or `"tcp" | "udp"`."""
    for key in ("anyOf", "oneOf"):
        if key in rule:
            return " or ".join(type_text(branch) for branch in rule[key])
    if "const" in rule:
        return json.dumps(rule["const"])
    if "enum" in rule:
        return " | ".join(json.dumps(value) for value in rule["enum"])
    kinds = rule.get("type", "any")
    text = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    bounds = [
        f"{sign} {rule[key]}"
        for key, sign in (
            ("minimum", ">="),
            ("exclusiveMinimum", ">"),
            ("maximum", "<="),
            ("exclusiveMaximum", "<"),
        )
        if key in rule
    ]
    return " ".join([text, *bounds])
