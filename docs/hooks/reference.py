"""The reference pages, made from the code when the documentation is built.

MkDocs calls `on_files` (https://www.mkdocs.org/dev-guide/plugins/#on_files).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sfcperf import plugins
from sfcperf.cli.app import app
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.schema import base_schema, effective_schema

Schema = Mapping[str, Any]

KINDS = {
    "driver": "Drivers",
    "vnf": "VNF types",
    "probe": "Probes",
    "monitor": "Monitors",
    "analysis": "Analyses",
    "publisher": "Publishers",
}
LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxLength": "at most {} characters",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the effective schema for editors."""
    pages = {
        "reference/cli.md": "\n".join(cli()),
        "reference/workflow.md": "\n".join(workflow()),
        "reference/plugins.md": "\n".join(all_plugins()),
        "reference/workflow.schema.json": json.dumps(effective_schema(), indent=2),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def cli() -> Iterator[str]:
    """The verbs of the command line with their arguments and options."""
    group = typer.main.get_command(app)
    yield "# Command line\n"
    yield f"{group.help}\n"
    root = group.context_class(group, info_name="sfcperf", **group.context_settings)
    yield from _commands(group, root, "##")
    yield "## Exit codes\n"
    yield "| Code | Meaning |\n| --- | --- |"
    yield "| 0 | all trials are valid |"
    yield (
        "| 1 | some trials failed or are untrusted; of `compare --fail-on`, `verify` and `replay`:"
        " something does not hold |"
    )
    yield "| 2 | bad input; nothing was made |"
    yield "| 3 | the environment lacks something; the message says what to install |"
    yield "| 4 | internal error |"
    yield "| 130 | interrupted; `sfcperf resume` goes on |"


def _commands(group: Any, parent: Any, heading: str) -> Iterator[str]:
    """Each command of a group, and those of groups in it."""
    for name, command in group.commands.items():
        context = command.context_class(
            command, info_name=name, parent=parent, terminal_width=100, **command.context_settings
        )
        yield f"{heading} {context.command_path.removeprefix('sfcperf ')}\n"
        yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
        yield f"{inspect.cleandoc(command.help or '')}\n"
        records = [r for p in command.get_params(context) if (r := p.get_help_record(context))]
        if records:
            yield from _table(("Option", "Meaning"), ((f"`{o}`", text) for o, text in records))
        if hasattr(command, "commands"):
            yield from _commands(command, context, f"{heading}#")


def workflow() -> Iterator[str]:
    """The workflow's own keys."""
    text = base_schema()
    yield "# Workflow file\n"
    yield f"{text['description']}\n"
    yield (
        "Parameters of plug-ins are on the page [Plug-ins](plugins.md). The schema as a whole, with"
        " the plug-ins that come with SFCPerf, is [workflow.schema.json](workflow.schema.json):"
        " name it in a workflow's `$schema` and an editor completes and checks.\n"
    )
    yield (
        "Where a value may vary, `${name}` stands for the level of the factor `name`: with its"
        " type when it is the whole text, as text inside one.\n"
    )
    keys = list(text["properties"])
    parts = [name for name in text["$defs"] if name not in keys]
    yield "## Keys of the workflow\n"
    yield from _properties(text, text)
    for name in (*keys, *parts):
        definition = text["$defs"][name]
        tables = [table for table in _alternatives(definition) if table.get("properties")]
        if not tables:
            continue
        yield f"## {name} {{ #{_anchor(name)} }}\n"
        yield f"{definition.get('description', '')}\n"
        for table in tables:
            if table is not definition and "title" in table:
                yield f"As {table['title']}:\n"
            yield from _properties(table, text)


def all_plugins() -> Iterator[str]:
    """Every installed plug-in, from its class."""
    yield "# Plug-ins\n"
    yield "Those that come with SFCPerf; `sfcperf list` and `sfcperf show` know yours as well.\n"
    for kind, heading in KINDS.items():
        yield f"## {heading}\n"
        for name in plugins.names(kind):
            yield from _plugin(kind, name)


def _plugin(kind: str, name: str) -> Iterator[str]:
    plugin = plugins.load(kind, name)
    yield f"### {name} {{ #{kind}-{name} }}\n"
    yield f"*{plugin.title}.*\n"
    yield f"{inspect.getdoc(plugin) or ''}\n"
    if plugin.parameters.get("properties"):
        yield from _properties(plugin.parameters, plugin.parameters)
    if kind == "monitor":
        yield f"Cost: {plugin.cost}\n"
    if kind == "probe":
        rows = [
            (f"`{m.name}`", m.unit, m.description, m.better if m.better != "none" else "")
            for m in plugin.metrics(with_defaults(plugin.parameters, {}))
        ]
        yield from _table(("Metric", "Unit", "Meaning", "Better"), rows)


def _alternatives(schema: Schema) -> list[Schema]:
    return [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]


def _properties(schema: Schema, root: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    rows = []
    for name, declared in schema["properties"].items():
        value = _resolved(declared, root)
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        default = "**required**" if name in required else default
        rows.append((f"`{name}`", _type(declared, root), default, value.get("description", "")))
    yield from _table(("Key", "Type", "Default", "Meaning"), rows)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """With what it refers to; its own words win."""
    while "$ref" in schema:
        target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    return schema


def _type(declared: Schema, root: Schema) -> str:
    value = _resolved(declared, root)
    if "$ref" in declared:
        name = declared["$ref"].removeprefix("#/$defs/")
        if any(t.get("properties") for t in _alternatives(value)):
            return f"[{name}](#{_anchor(name)})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(item)}`" for item in value["enum"])
    alternatives = [*value.get("oneOf", ()), *value.get("anyOf", ())]
    if alternatives:
        return " or ".join(_type(item, root) for item in alternatives)
    kind = value.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array" and "items" in value:
        kind = f"array of {_type(value['items'], root)}"
    elif isinstance(value.get("additionalProperties"), dict):
        kind = f"object of {_type(value['additionalProperties'], root)}"
    limits = [text.format(value[key]) for key, text in LIMITS.items() if key in value]
    return f"{kind}, {', '.join(limits)}" if limits else kind


def _table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(str(cell)) for cell in row) + " |"
    yield ""


def _cell(text: str) -> str:
    """Text for a table; in code a bar does not end a cell, and a backslash would be shown."""
    parts = text.replace("\n", " ").split("`")
    parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
    return "`".join(parts)


def _anchor(name: str) -> str:
    return name.strip("$").replace("_", "-")
