"""The documentation builds, and its generated pages are complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.verbs import verbs

TREE = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("docs")


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


def test_the_reference_knows_the_plug_ins(site: Path) -> None:
    page = (site / "reference" / "plugins.html").read_text()
    for anchor in ("driver-local", "vnf-forwarder", "probe-iperf3", "monitor-tcpdump"):
        assert f'id="{anchor}"' in page
    assert "rtt_us" in page


def test_the_schema_for_editors_is_published(site: Path) -> None:
    schema = json.loads((site / "reference" / "workflow.schema.json").read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="https?://[^"]*"')
    for page in site.rglob("*.html"):
        text = re.sub(r'<link rel="canonical"[^>]*>', "", page.read_text())
        assert loading.findall(text) == [], page
