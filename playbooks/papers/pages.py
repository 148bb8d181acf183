"""The parts of README.md and docs/papers/*.md that are made from workflows and kept packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.errors import InputError, system_errors_as
from sfcperf.playbooks.papers.experiments import PAPERS, Experiment
from sfcperf.playbooks.papers.state import State, state_of
from sfcperf.playbooks.papers.tables import overview, paper_block

BEGIN = "<!-- kept runs: begin (`make papers-docs` writes what follows) -->\n"
END = "<!-- kept runs: end -->\n"
PAGES = Path("docs") / "papers"


def made_pages(experiments: Sequence[Experiment], packages: Path, tree: Path) -> dict[Path, str]:
    """Return page -> its text with the parts between the markers made again, for README.md of
    `tree` and the page of each paper that has experiments. Raises InputError for a damaged package,
    and for a page without markers."""
    states = [state_of(experiment, packages) for experiment in experiments]
    of_papers: dict[str, list[State]] = {}
    for state in states:
        of_papers.setdefault(state.experiment.paper.prefix, []).append(state)
    papers = [(paper, of_papers[paper.prefix]) for paper in PAPERS if paper.prefix in of_papers]
    parts = {tree / "README.md": overview(papers)}
    parts |= {tree / PAGES / paper.page: paper_block(found) for paper, found in papers}
    return {page: _replaced(page, part) for page, part in parts.items()}


def write_pages(experiments: Sequence[Experiment], packages: Path, tree: Path) -> list[Path]:
    """Write the pages that `made_pages` changes; return their paths. Raises as that."""
    changed = [
        (page, text)
        for page, text in made_pages(experiments, packages, tree).items()
        if text != page.read_text()
    ]
    for page, text in changed:
        page.write_text(text)
    return [page for page, _ in changed]


def _replaced(page: Path, part: str) -> str:
    """Return the text of a page with another part between its markers."""
    with system_errors_as(InputError, "the page cannot be read", where=page):
        before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(
            "the page has no place for what is generated", where=str(page), allowed=BEGIN + END
        )
    return f"{before}{BEGIN}\n{part}\n{END}{after}"
