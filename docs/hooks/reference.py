"""Generates the reference pages from the code when MkDocs builds the documentation.

MkDocs calls `on_config`, `on_files` and `on_post_page` (https://www.mkdocs.org/dev-guide/plugins/).
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from sfcperf import plugins
from sfcperf.cli.commands import EXIT_CODES, contexts
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.schema import effective_schema, own_schema

Schema = Mapping[str, Any]

KINDS = {
    "driver": "Drivers",
    "vnf": "VNF types",
    "probe": "Probes",
    "monitor": "Monitors",
    "analysis": "Analyses",
    "service": "Services",
    "publisher": "Publishers",
}
LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minItems": "length ≥ {}",
    "maxItems": "length ≤ {}",
    "maxLength": "at most {} characters",
}
SINGULAR = {
    "driver": "Driver",
    "vnf": "VNF type",
    "probe": "Probe",
    "monitor": "Monitor",
    "analysis": "Analysis",
    "service": "Service",
    "publisher": "Publisher",
}
PLACES = {
    "driver": "Set these in `infrastructure.config`.",
    "vnf": "Set these in `vnfs.NAME.knobs`.",
    "probe": 'Set these next to `"probe": "{}"`.',
    "monitor": 'Set these next to `"monitor": "{}"`.',
    "analysis": 'Set these next to `"analysis": "{}"`.',
    "service": 'Set these next to `"service": "{}"` in `services.NAME`.',
    "publisher": 'Set these next to `"to": "{}"`.',
}
UNITS = {
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "hz": "Hz",
    "bps": "bit/s",
    "bytes": "bytes",
    "mib": "MiB",
    "mtu": "bytes",
    "snaplen": "bytes",
    "ratio": "fraction",
    "per_s": "1/s",
    "tolerance": "fraction",
}
"""End of a parameter's name -> its unit."""

MERMAID = Path("build/mermaid")
"""Mermaid's script is put there by playbooks/mermaid.sh."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the generated pages of plug-ins in the navigation, and have Mermaid in the site."""
    # Without it, the theme makes readers load it from unpkg.com.
    if not any(MERMAID.glob("*.min.js")):
        raise PluginError(f"no Mermaid in {MERMAID}/: run `make docs`, which downloads it")
    reference = next(s["Reference"] for s in config.nav or () if "Reference" in s)
    reference += [
        {heading: [{name: _page(kind, name)} for name in plugins.names(kind)]}
        for kind, heading in KINDS.items()
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the effective schema for editors."""
    pages = {
        "reference/cli.md": "\n".join(cli()),
        "reference/workflow.md": "\n".join(workflow()),
        "reference/plugins.md": "\n".join(all_plugins()),
        "reference/flow-features.md": "\n".join(flow_features()),
        "reference/sfc-controller.md": "\n".join(rest_interface("sfc-controller")),
        "reference/sfc-controller.openapi.json": json.dumps(controller_api(), indent=2),
        "reference/rule-interface.md": "\n".join(rest_interface("rule-interface")),
        "reference/rule-interface.openapi.json": json.dumps(rule_api(), indent=2),
        "reference/classifier-interface.md": "\n".join(rest_interface("classifier-interface")),
        "reference/classifier-interface.openapi.json": json.dumps(classifier_api(), indent=2),
        "reference/sdn-mon-controller.md": "\n".join(rest_interface("sdn-mon-controller")),
        "reference/sdn-mon-controller.openapi.json": json.dumps(sdnmon_api(), indent=2),
        "decisions/index.md": "\n".join(decisions(files)),
        "reference/workflow.schema.json": json.dumps(effective_schema(), indent=2),
    }
    for kind in KINDS:
        for name in plugins.names(kind):
            pages[_page(kind, name)] = "\n".join(plugin_page(kind, name))
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    (mermaid,) = MERMAID.glob("*.min.js")
    files.append(File.generated(config, "assets/mermaid.min.js", content=mermaid.read_text()))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Mark words in code that have hyphens, behind which browsers would break them (`--set`), if
    they fit on a phone."""
    # Blocks of code scroll; there, a <span> comes before <code>.
    words = partial(re.sub, r"(?<!\S)(?=\S*-)\S{1,40}(?!\S)", r'<span class="word">\g<0></span>')
    return re.sub(r"(?<!</span><code>)(?<=<code>)[^<]+", lambda text: words(text[0]), html)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Let pages with diagrams load the site's own Mermaid."""
    if 'class="mermaid"' not in output:
        return output
    path = posixpath.relpath("assets/mermaid.min.js", posixpath.dirname(page.url))
    return output.replace("</head>", f'<script src="{path}"></script></head>', 1)


def decisions(files: Files) -> Iterator[str]:
    """Every decision by its title."""
    yield "# Decisions\n"
    yield "Why things are as they are, where that would puzzle a newcomer.\n"
    for file in files.documentation_pages():
        if file.src_uri.startswith("decisions/"):
            heading = file.content_string.partition("\n")[0]
            title = heading.removeprefix("# ").partition(" ")[2]
            yield f"- [{title}]({posixpath.basename(file.src_uri)})"


def cli() -> Iterator[str]:
    """The verbs of the command line with their arguments and options."""
    group, *verbs = contexts()
    yield "# Command line\n"
    yield f"{group.command.help}\n"
    for verb in verbs:
        path = verb.command_path.removeprefix("sfcperf ")
        yield f"##{'#' * path.count(' ')} {path}\n"
        yield f"```\n{verb.get_usage().removeprefix('Usage: ')}\n```\n"
        yield f"{inspect.cleandoc(verb.command.help or '')}\n"
        records = [r for p in verb.command.get_params(verb) if (r := p.get_help_record(verb))]
        yield from _table(("Option", "Meaning"), ((f"`{o}`", text) for o, text in records))
    yield "## Exit codes\n"
    yield from _table(("Code", "Meaning"), ((int(code), text) for code, text in EXIT_CODES.items()))


def workflow() -> Iterator[str]:
    """The workflow's own keys."""
    text = own_schema()
    yield "# Workflow file\n"
    yield f"{text['description']}\n"
    yield (
        "For the parameters of plug-ins, see [Plug-ins](plugins.md). The complete schema, including"
        " the plug-ins that come with SFCPerf, is [workflow.schema.json](workflow.schema.json):"
        " name it in the `$schema` of a workflow, and your editor completes and checks keys.\n"
    )
    yield (
        "Where a value can vary, `${name}` stands for the level of the factor `name`. A string that"
        " is exactly `${name}` takes the level with its type; inside a longer string, the level is"
        " inserted as text.\n"
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


def rest_interface(name: str) -> Iterator[str]:
    """A REST interface by the name of its page: requests, then resources and answers."""
    title, guide, described = {
        "sfc-controller": (
            "REST interface of the SFC controller",
            "[Run the SFC controller](../how-to/run-the-sfc-controller.md)",
            controller_api,
        ),
        "sdn-mon-controller": (
            "REST interface of the SDN-Mon controller",
            "[Control SDN-Mon](../how-to/control-sdn-mon.md)",
            sdnmon_api,
        ),
        "rule-interface": (
            "REST interface for rules",
            "[Block by REST](../how-to/block-by-rest.md)",
            rule_api,
        ),
        "classifier-interface": (
            "REST interface of the flow classifier",
            "[Detect and block attacks](../how-to/block-attacks.md)",
            classifier_api,
        ),
    }[name]
    api = described()
    yield f"# {title}\n"
    yield f"{api['info']['description']}\n"
    yield (
        f"{guide} explains how. Each request needs the header `Authorization: Bearer TOKEN`. This"
        f" page is made from [{name}.openapi.json]({name}.openapi.json).\n"
    )
    yield "## Requests\n"
    rows = []
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            meaning = operation.get("description") or operation["summary"]
            answers = ", ".join(sorted(operation["responses"]))
            rows.append((f"`{method.upper()} {path}`", meaning, answers))
    yield from _table(("Request", "Meaning", "Answers"), rows)
    # `_properties` looks for definitions where JSON Schema has them.
    text = json.dumps(api["components"]["schemas"])
    definitions = json.loads(
        text.replace("#/components/schemas/", "#/$defs/"), parse_float=_whole_if_it_is
    )
    for name, definition in definitions.items():
        if definition.get("properties"):
            yield f"## {name} {{ #{_anchor(name)} }}\n"
            yield f"{definition.get('description', '')}\n"
            yield from _properties(definition, {"$defs": definitions})


def _whole_if_it_is(text: str) -> int | float:
    """OpenAPI has limits of integers as 509.0."""
    value = float(text)
    return int(value) if value.is_integer() else value


def flow_features() -> Iterator[str]:
    """The columns of flow records, and how they are computed."""
    from sfcperf.vnfs.ids import features

    yield "# Flow features\n"
    yield (
        "The VNF type [ids](plugins/vnf-ids.md) makes records of flows"
        " (`schemas/flow-record.schema.json`). Their `features` are these columns, in this order."
        " An implementation that follows this page gets identical numbers.\n"
    )
    rows = [
        (n, f"`{f.name}`", f.unit, f.definition, f.source) for n, f in enumerate(features.COLUMNS)
    ]
    yield from _table(("Place", "Name", "Unit", "Meaning", "Source"), rows)
    yield (
        "Sources: flowtbag (<https://github.com/DanielArndt/flowtbag>), whose features are partly"
        " those of NetMate's module `flowstats`. Where the rules below differ, they apply.\n"
    )
    for heading, text in features.RULES:
        yield f"## {heading}\n\n{text}\n"
    yield "## Differences from flowtbag\n"
    yield from (f"- {difference}" for difference in features.DIFFERENCES)
    yield ""


def controller_api() -> Schema:
    """Its OpenAPI description."""
    from sfcperf.vnfs.sfcmon.controller.api import description

    return description()


def sdnmon_api() -> Schema:
    """The OpenAPI description of the SDN-Mon controller."""
    from sfcperf.dataplane.sdnmon.controller.api import description

    return description()


def rule_api() -> Schema:
    """The OpenAPI description of a firewall's rule interface."""
    from sfcperf.vnfs.rule_interface.api import description

    return description()


def classifier_api() -> Schema:
    """The OpenAPI description of the flow classifier."""
    from sfcperf.services.classifier.serving.api import description

    return description()


def all_plugins() -> Iterator[str]:
    """Every installed plug-in with its title, linked to its page."""
    yield "# Plug-ins\n"
    yield (
        "These plug-ins come with SFCPerf. `sfcperf list` and `sfcperf show` also describe those"
        " that you installed.\n"
    )
    for kind, heading in KINDS.items():
        yield f"## {heading}\n"
        rows = [
            (f"[{name}]({posixpath.relpath(_page(kind, name), 'reference')})", f"{p.title}.")
            for name in plugins.names(kind)
            for p in (plugins.load(kind, name),)
        ]
        yield from _table(("Name", "Purpose"), rows)


def plugin_page(kind: str, name: str) -> Iterator[str]:
    """One plug-in: its docstring, parameters, and what it reports."""
    plugin = plugins.load(kind, name)
    yield f"# {name}\n"
    yield f"*{SINGULAR[kind]}: {plugin.title}.*\n"
    yield f"{inspect.getdoc(plugin) or ''}\n"
    yield "## Parameters\n"
    if plugin.parameters.get("properties"):
        yield f"{PLACES[kind].format(name)}\n"
        yield from _properties(plugin.parameters, plugin.parameters)
    else:
        yield "None.\n"
    if kind == "monitor":
        yield f"## Cost\n\n{plugin.cost}\n"
    if kind == "probe":
        rows = [
            (f"`{m.name}`", m.unit, m.description, m.better if m.better != "none" else "")
            for m in plugin.metrics(with_defaults(plugin.parameters, {}))
        ]
        yield "## Metrics\n"
        yield from _table(("Metric", "Unit", "Meaning", "Better"), rows)


def _page(kind: str, name: str) -> str:
    return f"reference/plugins/{kind}-{name}.md"


def _alternatives(schema: Schema) -> list[Schema]:
    return [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]


def _properties(schema: Schema, root: Schema) -> Iterator[str]:
    yield from _table(("Key", "Type", "Unit", "Default", "Meaning"), _rows(schema, root))


def _rows(schema: Schema, root: Schema, prefix: str = "") -> Iterator[tuple[str, ...]]:
    """A row per property; those of objects in it follow as `outer.inner`, `outer[].inner` or
    `outer.NAME.inner`."""
    required = schema.get("required", ())
    for name, declared in schema["properties"].items():
        value = _resolved(declared, root)
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        default = "**required**" if name in required else default
        unit = _unit(name)
        meaning = value.get("description", "")
        yield f"`{prefix}{name}`", _type(declared, root), unit, default, meaning
        if "$ref" not in declared:
            inner, suffix = (value["items"], "[]") if "items" in value else (value, "")
            if isinstance(value.get("additionalProperties"), dict):
                inner, suffix = value["additionalProperties"], ".NAME"
            if "properties" in inner:
                yield from _rows(inner, root, f"{prefix}{name}{suffix}.")
                yield from _branch_rows(inner, root, f"{prefix}{name}{suffix}.")


def _unit(name: str) -> str:
    parts = name.split("_")
    return UNITS.get("_".join(parts[-2:])) or UNITS.get(parts[-1], "")


def _branch_rows(schema: Schema, root: Schema, prefix: str) -> Iterator[tuple[str, ...]]:
    """Properties that there are beside certain values of others."""
    for branch in schema.get("allOf", ()):
        chosen = branch["if"]["properties"]
        values = ", ".join(f"`{rule['const']}`" for rule in chosen.values())
        others = {k: v for k, v in branch["then"]["properties"].items() if k not in chosen}
        for name, *cells, meaning in _rows({**branch["then"], "properties": others}, root, prefix):
            yield name, *cells, f"With {values}: {meaning}"


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
    if "minimum" in value and "maximum" in value:
        return f"{kind}, {value['minimum']} to {value['maximum']}"
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
