"""Metadata with which a package is deposited in an archive that runs InvenioRDM, such as Zenodo.

Fields and their values are those of InvenioRDM's metadata reference
(https://inveniordm.docs.cern.ch/reference/metadata/), as its REST API takes a draft of a record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.package.kit.citation import KEYWORDS
from sfcperf.package.kit.machine import machine_text
from sfcperf.package.pack import check_target
from sfcperf.package.pack_document import PackOptions
from sfcperf.package.people import Author
from sfcperf.results.files import replace_file

_DOI = re.compile(r"(?:https://doi\.org/|doi:)?(10\.[0-9]{4,9}/[!-~]+)")


@dataclass(frozen=True)
class Deposit:
    """Where the metadata are written, and what they say beside the package."""

    path: Path
    papers: tuple[str, ...]
    """DOIs of the papers that the package supplements."""

    def write(self, document: Mapping[str, Any]) -> Path:
        """Write the metadata of a package; return their path. `document`: package.json."""
        content = draft(document, self.papers)
        replace_file(self.path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return self.path


def deposit(
    path: Path | None, papers: Sequence[str], package: Path, options: PackOptions
) -> Deposit | None:
    """Read what the user says of a deposit; None: the user wants none. Raises InputError for a DOI
    that is none, without authors, and where the file cannot be written."""
    if path is None:
        if papers:
            raise InputError("this is for --deposit", where="--paper", hint="add --deposit FILE")
        return None
    if not options.authors:
        raise InputError(
            "archives accept nothing without an author",
            where="--deposit",
            hint="add --author 'NAME <ORCID>'",
        )
    check_target(path, options)
    if path.resolve() == package.resolve():
        raise InputError("this is the package itself", where=f"--deposit {path}")
    return Deposit(path, tuple(map(_doi, papers)))


def _doi(text: str) -> str:
    match = _DOI.fullmatch(text)
    if match is None:
        raise InputError(
            f"{text!r} is not a DOI", where="--paper", allowed="such as 10.1109/5.771073"
        )
    return match[1]


def draft(document: Mapping[str, Any], papers: Sequence[str]) -> dict[str, Any]:
    """Return the draft of a record of a package. `document`: package.json, with authors; `papers`:
    DOIs of papers that it supplements."""
    runs = document["runs"]
    first = min(run["started_at"] for run in runs)[:10]
    last = max(run["ended_at"] or run["started_at"] for run in runs)[:10]
    metadata = {
        "resource_type": {"id": "dataset"},
        "title": document["title"],
        "creators": [_creator(Author(a["name"], a["orcid"])) for a in document["authors"]],
        "publication_date": document["date"],
        "description": f"<p>{escape(document['description'], quote=False)}</p>"
        "<p>A reproducibility package: README.md in it says how to check it and to measure "
        "again.</p>",
        "additional_descriptions": [
            {"description": text, "type": {"id": "technical-info"}} for text in _technical(runs)
        ],
        "subjects": [
            {"subject": word} for word in dict.fromkeys([*KEYWORDS, *(r["name"] for r in runs)])
        ],
        "dates": [{"date": f"{first}/{last}", "type": {"id": "collected"}}],
        "version": document["date"],
        "formats": ["application/zip"],
    }
    if document["license"] is not None:
        metadata["rights"] = [{"id": document["license"].lower()}]
    if papers:
        metadata["related_identifiers"] = [
            {"identifier": doi, "scheme": "doi", "relation_type": {"id": "issupplementto"}}
            for doi in papers
        ]
    return {
        "access": {"record": "public", "files": "public"},
        "files": {"enabled": True},
        "metadata": metadata,
    }


def _creator(author: Author) -> dict[str, Any]:
    """An author as an entry of `creators`."""
    person = {"type": "personal", "family_name": author.family_name}
    identifiers = [{"scheme": "orcid", "identifier": author.orcid}] if author.orcid else []
    return {
        "person_or_org": {
            **person,
            **({"given_name": author.given_name} if author.given_name else {}),
            **({"identifiers": identifiers} if identifiers else {}),
        }
    }


def _technical(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """With what and on which machines the runs were measured, each text once, in HTML."""
    texts = (
        f"Measured with SFCPerf {run['sfcperf_version']} on {machine_text(run['machine'])}"
        for run in runs
    )
    return [escape(text, quote=False) for text in dict.fromkeys(texts)]
