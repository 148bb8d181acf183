"""The documentation builds, and its generated pages are complete."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.verbs import verbs

from sfcperf import plugins

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built; a warning fails it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=TREE,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reference_knows_every_verb(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text()
    for verb, command in verbs().items():
        assert f'id="{verb.replace(" ", "-")}"' in page
        for option in (o for p in command.params for o in p.opts if o.startswith("-")):
            assert option in page


def described(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each parameter of a plug-in, those of objects and lists in it too, with its description."""
    for name, one in schema.get("properties", {}).items():
        yield f"{prefix}{name}", one.get("description", "")
        yield from described(one, f"{prefix}{name}.")
        yield from described(one.get("items", {}), f"{prefix}{name}[].")


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in plugins.GROUPS for name in plugins.names(kind)],
)
def test_every_plug_in_has_a_page(site: Path, kind: str, name: str) -> None:
    page = site / "reference" / "plugins" / f"{kind}-{name}.html"
    text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))
    plugin = plugins.load(kind, name)
    for parameter, description in described(plugin.parameters):
        assert description, parameter
        assert parameter in text
        # The page renders Markdown: compare letters and digits.
        assert letters(description) in letters(text), parameter
    assert f"plugins/{page.name}" in (site / "reference" / "plugins.html").read_text()


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def test_the_schema_for_editors_is_published(site: Path) -> None:
    schema = json.loads((site / "reference" / "workflow.schema.json").read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="https?://[^"]*"')
    for page in site.rglob("*.html"):
        text = re.sub(r'<link rel="canonical"[^>]*>', "", page.read_text())
        assert loading.findall(text) == [], page
