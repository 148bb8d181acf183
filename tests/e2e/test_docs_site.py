"""The documentation builds, its pages are complete and lead to each other, and it works offline."""

from __future__ import annotations

import html
import json
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from support.ended import ended
from support.servers.browser import Browser, requests, size, theme, wait
from support.verbs import verbs

from sfcperf import plugins

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built; a warning fails it."""
    if not any((TREE / "build" / "mermaid").glob("*.min.js")):
        pytest.skip("needs Mermaid in build/mermaid (make servers)")
    folder = tmp_path_factory.mktemp("site")
    done = ended(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        timeout_s=120,
        folder=TREE,
        environment={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reference_has_every_verb_and_the_schema_for_editors(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text()
    schema = json.loads((site / "reference" / "workflow.schema.json").read_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
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


def test_every_plug_in_has_a_page(site: Path) -> None:
    contents = (site / "reference" / "plugins.html").read_text()
    for kind, name in [(group, name) for group in plugins.GROUPS for name in plugins.names(group)]:
        page = site / "reference" / "plugins" / f"{kind}-{name}.html"
        text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))
        for parameter, description in described(plugins.load(kind, name).parameters):
            assert description and parameter in text, (name, parameter)
            # The page renders Markdown: compare letters and digits.
            assert letters(description) in letters(text), (name, parameter)
        assert f"plugins/{page.name}" in contents


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="https?://[^"]*"')
    for page in site.rglob("*.html"):
        text = re.sub(r'<link rel="canonical"[^>]*>', "", page.read_text())
        assert loading.findall(text) == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"""(?:url\(|@import )["']?(?:https?:)?//""", sheet.read_text()) == []


def test_texts_lead_from_the_first_page_to_every_page(site: Path) -> None:
    """By links in the text: who reads it need not search the navigation."""
    reached, waiting = set(), ["index.html"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        text = re.sub(r"<nav.*?</nav>", "", (site / page).read_text(), flags=re.S)
        (article,) = re.findall(r"<article.*?</article>", text, re.S)
        links = re.findall(r'href="([^"#:]+\.html)', article)
        waiting += [posixpath.normpath(posixpath.join(page, "..", link)) for link in links]
    pages = {str(p.relative_to(site)) for p in site.rglob("*.html")} - {"404.html"}
    assert pages - reached == set()


@pytest.mark.server
def test_search_diagrams_and_themes_work_without_network(browser: Browser, site: Path) -> None:
    address = site.as_uri()
    theme(browser, "light")
    browser.get(f"{address}/explanation/architecture.html")
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, "div.mermaid")) == 2)
    for diagram in browser.find_elements(By.CSS_SELECTOR, "div.mermaid"):
        assert diagram.size["height"] > 100

    scheme = "return document.body.getAttribute('data-md-color-scheme')"
    assert browser.execute_script(scheme) == "default"
    for _ in range(2):  # from the system's theme to the light and to the dark one
        browser.find_element(By.CSS_SELECTOR, "label[for^=__palette]:not([hidden])").click()
    assert browser.execute_script(scheme) == "slate"

    browser.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys("noise floor")
    found = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".md-search-result__link"))
    assert "explanation/comparing.html" in " ".join(f.get_attribute("href") for f in found)
    assert browser.get_log("browser") == []
    own = (address, "data:", "blob:")
    assert [url for url in requests(browser) if not url.startswith(own)] == []


BROKEN_WORDS = """
const broken = [];
const texts = document.createTreeWalker(
  document.querySelector("article"), NodeFilter.SHOW_TEXT);
const range = document.createRange();
while (texts.nextNode()) {
  const node = texts.currentNode;
  if (node.parentElement.closest("pre, .headerlink")) continue;
  // Letters and digits: a line may end behind a hyphen or a slash, except in code.
  const words = node.parentElement.closest("code") ? /\\S{1,40}/g : /[\\p{L}\\p{N}_]+/gu;
  for (const word of node.data.matchAll(words)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map((r) => r.top)).size > 1) broken.push(word[0]);
  }
}
return broken;
"""


@pytest.mark.server
def test_no_word_is_broken_and_no_page_scrolls_sideways_on_a_phone(
    browser: Browser, site: Path
) -> None:
    size(browser, 375, 800)
    for name in (
        "index", "how-to/compare-runs", "reference/cli", "reference/glossary",
        "reference/plugins/probe-heavy_hitter_mitigation",
    ):  # fmt: skip
        browser.get((site / f"{name}.html").as_uri())
        assert browser.execute_script(BROKEN_WORDS) == [], name
        visible, needed = browser.execute_script(
            "const e = document.documentElement; return [e.clientWidth, e.scrollWidth]"
        )
        assert needed <= visible, name
