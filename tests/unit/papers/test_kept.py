"""The kept runs of the papers hold, are small, and are what README and docs/papers show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sfcperf.package.verify import verify
from sfcperf.playbooks.papers.experiments import PAPERS, Paper, experiments
from sfcperf.playbooks.papers.kept import MAX_ALL_BYTES, MAX_BYTES
from sfcperf.playbooks.papers.pages import made_pages
from sfcperf.playbooks.papers.state import state_of

TREE = Path(__file__).resolve().parents[3]
PACKAGES = TREE / "results" / "papers"
KEPT = sorted(PACKAGES.glob("*"))


@pytest.mark.parametrize("package", KEPT, ids=lambda path: str(path.stem))
def test_a_kept_run_holds(package: Path) -> None:
    """After a change of what is made from trials, `make papers-repack` makes it again."""
    verification = verify(package)
    assert verification.holds, verification


def test_kept_runs_are_small_and_of_shipped_workflows() -> None:
    sizes = {package.name: package.stat().st_size for package in KEPT}
    assert {name for name, size in sizes.items() if size > MAX_BYTES} == set()
    assert sum(sizes.values()) <= MAX_ALL_BYTES
    names = {f"{experiment.name}.zip" for experiment in experiments(TREE / "workflows")}
    assert sizes.keys() <= names


def test_each_paper_has_experiments_and_a_page() -> None:
    found = experiments(TREE / "workflows")
    assert {experiment.paper for experiment in found} == set(PAPERS)
    pages = {path.name for path in (TREE / "docs" / "papers").iterdir()}
    assert pages == {paper.page for paper in PAPERS}


def test_the_pages_show_what_is_kept() -> None:
    """`make papers-docs` writes them."""
    made = made_pages(experiments(TREE / "workflows"), PACKAGES, TREE)
    assert [page.name for page, text in made.items() if page.read_text() != text] == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.prefix))
def test_each_contradiction_is_explained(paper: Paper) -> None:
    found = [each for each in experiments(TREE / "workflows") if each.paper == paper]
    rows = [row for each in found for row in state_of(each, PACKAGES).rows]
    text = (TREE / "docs" / "papers" / paper.page).read_text()
    section = text.partition("\n## Why claims do not hold here\n")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `([\w.-]+)` \|", section, re.MULTILINE)
    assert sorted(explained) == sorted(r["id"] for r in rows if r["verdict"] == "contradicts")
