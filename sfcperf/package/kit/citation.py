"""CITATION.cff: how to cite a package (Citation File Format 1.2.0, doi:10.5281/zenodo.5171937)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.package.people import Author

KEYWORDS = ("service function chaining", "network function virtualization", "benchmarking")
"""Keywords of every package."""


def citation_text(document: Mapping[str, Any]) -> str | None:
    """Return the text of CITATION.cff; None without authors, who are required there. `document`:
    package.json."""
    import yaml

    authors = [Author(each["name"], each["orcid"]) for each in document["authors"]]
    if not authors:
        return None
    content = {
        "cff-version": "1.2.0",
        "message": "If you use these measurements, please cite them.",
        "type": "dataset",
        "title": document["title"],
        "abstract": document["description"],
        "authors": [_author(author) for author in authors],
        "date-released": document["date"],
        **({"license": document["license"]} if document["license"] else {}),
        "keywords": list(KEYWORDS),
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _author(author: Author) -> dict[str, str]:
    """An author as an entry of `authors`."""
    return {
        "family-names": author.family_name,
        **({"given-names": author.given_name} if author.given_name else {}),
        **({"orcid": author.id} if author.orcid else {}),
    }
