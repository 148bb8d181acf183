"""Hostile VNF descriptors, each in a sound workflow."""

# ruff: noqa: E501 - tables are easier to read with one row per line

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from support.attacks import Attack
from support.attacks.workflows import workflow

NFV = "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
TYPES = NFV + "node_types: {acme.Node: {derived_from: tosca.nodes.Root}}\n"


def template(capabilities: str = "", *, head: str = "", vdu: str = "", version: str = NFV) -> str:
    """A descriptor of one VDU."""
    return f"""{version}{head}
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.VDU
      capabilities: {{host: {{properties: {{{capabilities}}}}}}}
{vdu}"""


def importing(imports: str) -> str:
    """A descriptor with imports."""
    return template(head=f"imports: {imports}\n")


def described(files: Mapping[str, str], folder: Path, verb: str = "validate") -> list[str]:
    """Writes a workflow with a descriptor, and further files; gives the arguments."""
    vnfs = {"sf": {"type": "forwarder", "vnfd": "vnfd/vnfd.yaml"}}
    (folder / "workflow.json").write_text(workflow(vnfs=vnfs))
    for name, text in files.items():
        path = folder / "vnfd" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [verb, "workflow.json"]


def laughs(levels: int = 9, width: int = 10, leaf: str = "lol") -> str:
    """Anchors of lists of aliases (a "billion laughs"): `*z` stands for width ** levels values."""
    lines = [f"a0: &a0 [{', '.join([leaf] * width)}]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]"
        for level in range(1, levels)
    ]
    lines.append(f"z: &z [{', '.join([f'*a{levels - 1}'] * width)}]")
    return "dsl_definitions: {" + ", ".join(lines) + "}\n"


def _one(text: Callable[[], str], folder: Path) -> list[str]:
    return described({"vnfd.yaml": text()}, folder)


def _files(files: Callable[[], Mapping[str, str]], folder: Path) -> list[str]:
    return described(files(), folder)


def _linked(target: str, folder: Path) -> list[str]:
    arguments = described({"vnfd.yaml": importing("[types.yaml]")}, folder)
    (folder / "vnfd" / "types.yaml").symlink_to(target)
    return arguments


def _fifo(folder: Path) -> list[str]:
    arguments = described({"vnfd.yaml": importing("[types.yaml]")}, folder)
    os.mkfifo(folder / "vnfd" / "types.yaml")
    return arguments


def _descriptor_is_a_fifo(folder: Path) -> list[str]:
    arguments = described({"vnfd.yaml": ""}, folder)
    (folder / "vnfd" / "vnfd.yaml").unlink()
    os.mkfifo(folder / "vnfd" / "vnfd.yaml")
    return arguments


def _large_import(folder: Path) -> list[str]:
    arguments = described({"vnfd.yaml": importing("[types.yaml]")}, folder)
    with (folder / "vnfd" / "types.yaml").open("wb") as file:
        file.write(TYPES.encode())
        file.truncate(300 << 20)
    return arguments


def _chain_of_imports(count: int) -> dict[str, str]:
    chain = {f"t{n}.yaml": TYPES + f"imports: [t{n + 1}.yaml]\n" for n in range(count)}
    return {"vnfd.yaml": importing("[t0.yaml]"), **chain, f"t{count}.yaml": TYPES}


def nested_import(imports: str) -> dict[str, str]:
    return {
        "vnfd.yaml": importing("[sub/types.yaml]"),
        "sub/types.yaml": f"{TYPES}imports: {imports}\n",
    }


URLS = ("http://127.0.0.1:9/x.yaml", "ftp://127.0.0.1:9/x.yaml", "file:///etc/passwd")
OUTSIDE = ("/etc/shadow", "../../../../../../../../etc/passwd", "../../secret.yaml")


def forms(file: str) -> dict[str, str]:
    """The forms of an import (TOSCA Simple Profile in YAML 1.0, section 3.5.8)."""
    return {
        "string": f"[{file!r}]",
        "named": f"[{{acme: {file!r}}}]",
        "dict": f"[{{acme: {{file: {file!r}}}}}]",
        "bare-dict": f"[{{file: {file!r}}}]",
        "with-prefix": f"[{{acme: {{file: {file!r}, namespace_prefix: acme}}}}]",
        "not-a-list": f"{{acme: {file!r}}}",
        "bare-string": f"{file!r}",
    }


def _attack(name: str, text: Callable[[], str], says: str = "", **expected: Any) -> Attack:
    return Attack(name, partial(_one, text), says=says, **expected)


def _outside() -> list[Attack]:
    attacks = []
    for place, file in enumerate(OUTSIDE):
        files = {"vnfd.yaml": importing(f"[{file}]"), "../secret.yaml": "root:x:0:0\n"}
        nested = {
            **nested_import(f"[{{acme: {{file: {file}}}}}]"),
            "../secret.yaml": "root:x:0:0\n",
        }
        attacks += [
            Attack(f"imports-{place}", partial(described, files), says="vnfd.yaml"),
            Attack(f"nested-{place}", partial(described, nested), says="types.yaml"),
        ]
    return attacks


def _network() -> list[Attack]:
    attacks = [
        Attack(
            f"nested-{url.partition(':')[0]}",
            partial(described, nested_import(f"[{{acme: {{file: '{url}'}}}}]")),
            says="types.yaml",
        )
        for url in URLS
    ]
    repository = "repositories: {r: {url: 'http://127.0.0.1:9/'}}\n"
    by_name = "imports: [{acme: {file: x.yaml, repository: r}}]\n"
    attacks += [
        _attack("repository", lambda: template(head=repository + by_name), "vnfd.yaml"),
        Attack(
            "nested-repository",
            partial(
                described,
                {"vnfd.yaml": importing("[t.yaml]"), "t.yaml": TYPES + repository + by_name},
            ),
            says="t.yaml",
        ),
    ]
    return attacks


def _big_text(where: str) -> str:
    """A long text that is used often."""
    uses = ", ".join(["*t"] * 20_000)
    return template(head=f"dsl_definitions: {{t: &t {'x' * 100_000}, u: &u [{uses}]}}\n{where}")


def _recursive_properties(depth: int) -> str:
    vdu = "      properties: {a: " + "{get_property: [SELF, a]}" + "}\n"
    return template(vdu=vdu * min(depth, 1))


def _many_nodes(count: int) -> str:
    nodes = "".join(f"    N{n}: {{type: tosca.nodes.nfv.VDU}}\n" for n in range(count))
    return template() + nodes


def _required(count: int) -> str:
    """Nodes that each require all others."""
    wants = ", ".join(f"{{dependency: N{n}}}" for n in range(count))
    nodes = "".join(
        f"    N{n}: {{type: tosca.nodes.Compute, requirements: [{wants}]}}\n" for n in range(count)
    )
    return template() + nodes


def _derived(count: int) -> str:
    types = "".join(f"  t.{n}: {{derived_from: t.{n + 1}}}\n" for n in range(count))
    last = f"  t.{count}: {{derived_from: tosca.nodes.Root}}\n"
    node = "    N: {type: t.0}\n"
    return template(head=f"node_types:\n{types}{last}") + node


def _derived_from_itself() -> str:
    return template(head="node_types: {t.a: {derived_from: t.a}}\n") + "    N: {type: t.a}\n"


def _pattern() -> str:
    kind = (
        "node_types: {t.a: {derived_from: tosca.nodes.Root, properties: {p: {type: string, "
        "constraints: [{pattern: '(a|a|a|aa)+$'}]}}}}\n"
    )
    return template(head=kind) + "    N: {type: t.a, properties: {p: " + "a" * 60 + "!}}\n"


CONTROL = '"\\e[2J\\a"'

ATTACKS = [
    *_outside(),
    *_network(),
    Attack("import-by-a-link", partial(_linked, "/etc/shadow"), says="types.yaml"),
    Attack("import-of-kmsg", partial(_linked, "/proc/kmsg"), says="types.yaml"),
    Attack("import-of-a-fifo", _fifo, says="not a regular file"),
    Attack("descriptor-is-a-fifo", _descriptor_is_a_fifo, says="not a regular file"),
    Attack("import-of-300-MiB", _large_import, says="too large"),
    Attack("import-of-itself", partial(described, {"vnfd.yaml": importing("[vnfd.yaml]")}), exit_codes=(0, 2)),
    Attack("imports-in-a-chain", partial(_files, lambda: _chain_of_imports(2000)), says="imports"),
    Attack("imports-of-1-MiB-in-all", partial(_files, lambda: {"vnfd.yaml": importing("[a.yaml, b.yaml]"), "a.yaml": TYPES + "#" * 700_000, "b.yaml": TYPES + "#" * 700_000}), says="in all"),
    _attack("laughs", lambda: template(head=laughs()), "values"),
    _attack("laughs-as-version", lambda: laughs() + "tosca_definitions_version: *z\n" + template(version=""), "values"),
    _attack("laughs-as-num-cpus", lambda: template("num_cpus: *z", head=laughs()), "values"),
    _attack("laughs-as-imports", lambda: template(head=laughs(leaf="a.yaml") + "imports: *z\n"), "values"),
    _attack("laughs-as-properties", lambda: template(head=laughs(), vdu="      properties: {image: *z, user_data: *z}\n"), "values"),
    _attack("laughs-as-artifact", lambda: template(head=laughs(), vdu="      artifacts: {i: {type: tosca.artifacts.Deployment.Image.VM, file: *z}}\n"), "values"),
    _attack("laughs-as-merges", lambda: NFV + "a: &a {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join(['*a' + str(n - 1 if n else '')] * 10)}]}}\n" for n in range(9)), ""),
    _attack("text-of-100-kB-by-20000-aliases", lambda: _big_text("description: *u\n"), "characters"),
    _attack("1-MiB-of-anchors", lambda: NFV + "".join(f"a{n}: &a{n} 0\n" for n in range(50_000)), "values"),
    _attack("1-MiB-of-one-anchor", lambda: NFV + "a: [" + "&a 0, " * 150_000 + "]\n", "values"),
    _attack("alias-to-itself", lambda: template(head="dsl_definitions: &a {a: *a}\n"), "itself"),
    _attack("nested-yaml", lambda: NFV + "a: " + "[" * 500_000, "nested"),
    _attack("nested-yaml-blocks", lambda: NFV + "".join(" " * n + "a:\n" for n in range(1400)), "nested"),
    _attack("nested-yaml-dashes", lambda: NFV + "a: \n" + "- " * 400_000, "nested"),
    _attack("nested-questions", lambda: NFV + "? " * 500_000, ""),
    _attack("many-lists", lambda: NFV + "a: [" + "[]," * 300_000 + "]\n", "values"),
    _attack("long-integer", lambda: template("num_cpus: " + "9" * 900_000), ""),
    _attack("sexagesimal", lambda: template("num_cpus: 1" + ":59" * 300_000), ""),
    _attack("sexagesimal-float", lambda: template("num_cpus: 1" + ":59" * 300_000 + ".5"), ""),
    _attack("hexadecimal", lambda: template("num_cpus: 0x" + "f" * 900_000), ""),
    _attack("python-object", lambda: template(head="a: !!python/object/apply:os.system ['touch pwned']\n"), "not YAML"),
    _attack("timestamp", lambda: template(head="a: 2001-99-99\n"), "vnfd.yaml"),
    _attack("many-nodes", lambda: _many_nodes(20_000), "vnfd.yaml"),
    _attack("as-many-nodes-as-allowed", lambda: _many_nodes(499), "valid", exit_codes=(0,)),
    _attack("nodes-that-require-all", lambda: _required(60), "", exit_codes=(0, 2)),
    _attack("types-in-a-chain", lambda: _derived(3000), "vnfd.yaml"),
    _attack("some-types-in-a-chain", lambda: _derived(200), "", exit_codes=(0, 2)),
    _attack("type-derived-from-itself", _derived_from_itself, "vnfd.yaml"),
    _attack("property-of-itself", lambda: _recursive_properties(1), "", exit_codes=(0, 2)),
    _attack("slow-pattern", _pattern, "", exit_codes=(0, 2)),
    _attack("negative-cpus", lambda: template("num_cpus: -5"), "num_cpus"),
    _attack("no-cpus", lambda: template("num_cpus: 0"), "num_cpus"),
    _attack("too-many-cpus", lambda: template("num_cpus: 1000000"), "num_cpus"),
    _attack("too-much-memory", lambda: template("mem_size: 999999999 TB"), "mem_size"),
    _attack("endless-memory", lambda: template("mem_size: " + "9" * 400 + " TB"), "vnfd.yaml"),
    _attack("no-memory", lambda: template("mem_size: 0 MB"), "mem_size"),
    _attack("control-characters-as-type", lambda: template() + f"    N: {{type: {CONTROL}}}\n", "vnfd.yaml"),
    _attack("control-characters-as-version", lambda: template(version=f"tosca_definitions_version: {CONTROL}\n"), "vnfd.yaml"),
    _attack("control-characters-as-import", lambda: importing(f"[{CONTROL}]"), "imports"),
]  # fmt: skip
