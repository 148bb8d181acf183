"""The documentation builds, and what it shows is true."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from support.verbs import verbs

from sfcperf.plugins import GROUPS
from sfcperf.vnfs.base import NetworkFunction, RunningFunction
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.workflow.load import load_document

TREE = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(
        str(page.relative_to(TREE))
        for pattern in (
            "docs/**/*.md",
            "dataplane/*/README.md",
            "vnfs/*/README.md",
            "examples/*/README.md",
        )
        for page in TREE.glob(pattern)
    ),
]


def test_commands_in_the_docs_exist() -> None:
    """Every `sfcperf VERB --option` of the hand-written pages is one that the program takes."""
    known = {
        verb: {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"-h", "--help"}
        for verb, command in verbs().items()
    }
    wrong = []
    for page in map(TREE.joinpath, PAGES):
        text = page.read_text().replace("\\\n", " ")
        # What stands in a block: a line of running text may begin with the program's name too.
        blocks = re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.M | re.S)
        blocks += re.findall(r"^ {4,}.*$", text, re.M)
        asked = re.compile(r"^\s*(?:\$ )?(?:sudo )?sfcperf (.+)$", re.M)
        commands = [command for block in blocks for command in asked.findall(block)]
        commands += re.findall(r"`sfcperf ([^`\n]+)`", text)
        for command in commands:
            # Without what other commands insert.
            command = re.sub(r"\$\([^)]*\)", "", command)
            words = command.split("#")[0].split("|")[0].split()
            verb = next((v for v in (" ".join(words[:2]), words[0]) if v in known), None)
            if verb is None:
                if words[0] not in ("--help", "--version", "--install-completion", "VERB"):
                    wrong.append((page.name, command))
                continue
            options = [w.split("=")[0] for w in words if re.fullmatch(r"--?[a-z].*", w)]
            wrong += [(page.name, command, o) for o in options if o not in known[verb]]
    assert not wrong


def test_links_to_files_lead_somewhere() -> None:
    generated = {
        *("cli.md", "workflow.md", "plugins.md", "workflow.schema.json", "plugins/"),
        *("flow-features.md", "sfc-controller.md", "rule-interface.md", "sdn-mon-controller.md"),
        *("classifier-interface.md", "index.md"),  # the latter of decisions
    }
    dead = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)", (TREE / page).read_text())
        if "://" not in target
        and not {Path(target).name, f"{Path(target).parent.name}/"} & generated
        and not (TREE / page).parent.joinpath(target).exists()
    ]
    assert dead == []


def test_the_diagram_of_layers_is_what_import_linter_checks() -> None:
    contracts = tomllib.loads((TREE / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.findall(r"[\w.]+", names) for names in contracts["contracts"][0]["layers"]]
    page = (TREE / "docs" / "explanation" / "architecture.md").read_text()
    (diagram,) = re.findall(r"```mermaid\nflowchart BT\n(.*?)```", page, re.DOTALL)
    shown = re.findall(r"[\w.]+", " ".join(re.findall(r'"(.+?)"', diagram)))
    assert sorted(shown) == sorted(name for layer in layers for name in layer)
    # The lowest layer comes first; within a layer any order will do.
    places = [sorted(map(shown.index, layer)) for layer in reversed(layers)]
    assert [place for layer in places for place in layer] == list(range(len(shown)))
    table = page[page.index("| Package |") :]
    assert [name for name in shown if f"`{name}`" not in table] == []


@pytest.mark.parametrize(
    ("page", "scenarios"), [("README.md", 4), ("docs/how-to/test-claims.md", 3)]
)
def test_the_workflow_of_a_page_is_one(page: str, scenarios: int) -> None:
    (block,) = re.findall(r"```json\n(.*?)```", (TREE / page).read_text(), re.DOTALL)
    workflow = load_document(json.loads(block), TREE)
    assert len(workflow.scenarios) == scenarios


def test_the_steps_of_the_tutorial_make_a_workflow() -> None:
    text = (TREE / "docs" / "tutorial" / "your-own-workflow.md").read_text()
    first, *steps = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    document = json.loads(first)
    load_document(document, TREE)
    for step in steps:
        document |= json.loads("{" + step.strip().rstrip(",") + "}")
        load_document(document, TREE)
    workflow = load_document(document, TREE)
    assert len(workflow.scenarios) == 4
    # Its quick try is quick: stopping adds no rounds.
    quick = load_document(document, TREE, overrides=re.findall(r"--set (\S+=\S+)", text)).design
    assert quick.stop_when is not None
    assert quick.rounds == quick.stop_when.max_rounds == 1


def test_the_readme_shows_a_real_run() -> None:
    """What `make run` printed on some machine: a row per chain length and probe, and a picture."""
    text = (TREE / "README.md").read_text()
    begin, end = "<!-- quickstart output: begin -->", "<!-- quickstart output: end -->"
    shown = text[text.index(begin) : text.index(end)]
    assert shown.count("✓") == 12
    assert "72 trials: 72 valid" in shown
    assert (TREE / "docs" / "images" / "report-light.png").stat().st_size > 10_000


def _blocks(page: str, language: str) -> list[str]:
    """Contents of a page's blocks of code, without those that are snippets of files."""
    text = (TREE / page).read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    return [block for block in found if "--8<--" not in block]


def test_the_vnf_of_the_guide_is_the_one_that_is_tested() -> None:
    """tests/integration/vnfs/test_third_party_vnf.py runs it."""
    example = TREE / "tests/examples/sfcperf-example-plugin/sfcperf_example/watch.py"
    assert _blocks("docs/how-to/write-a-vnf.md", "python")[0] == example.read_text()
    project = tomllib.loads(_blocks("docs/how-to/write-a-vnf.md", "toml")[0])
    [[name, value]] = project["project"]["entry-points"][GROUPS["vnf"]].items()
    assert value == "watch:Watch"
    assert f'name, title, running = "{name}", ' in example.read_text()


@pytest.mark.parametrize(
    ("page", "language", "shown"),
    [
        ("program", "json", ["any-program/bridge-or-socat.json", "container-image/wire.json"]),
        ("program", "sh", ["container-image/build.sh"]),
        ("proxy", "json", [f"proxies/{name}.json" for name in ("haproxy", "squid", "dnsmasq")]),
    ],
)
def test_examples_in_the_guides_of_programs_are_the_shipped_ones(
    page: str, language: str, shown: list[str]
) -> None:
    """tests/e2e/test_any_program.py runs them."""
    examples = [(TREE / "examples" / name).read_text() for name in shown]
    blocks = _blocks(f"docs/how-to/benchmark-a-{page}.md", language)
    assert [block for block in blocks if block in examples] == examples


def test_signatures_in_the_guide_of_vnfs_are_those_of_the_classes() -> None:
    classes = {each.__name__: each for each in (KernelForwarding, RunningFunction, NetworkFunction)}
    stated = ast.parse(_blocks("docs/how-to/write-a-vnf.md", "python")[1])
    for found in stated.body:
        assert isinstance(found, ast.ClassDef)
        for method in found.body:
            assert isinstance(method, ast.FunctionDef)
            real = vars(classes[found.name])[method.name]
            real = getattr(real, "__func__", real)
            annotations = {
                a.arg: ast.unparse(a.annotation) for a in method.args.args if a.annotation
            }
            assert method.returns is not None
            annotations["return"] = ast.unparse(method.returns)
            assert real.__annotations__ == annotations, method.name
