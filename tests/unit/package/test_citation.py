"""CITATION.cff of packages and of the tree; tests/e2e/test_package_metadata.py validates both."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support.records.packages import OPTIONS, contents, finding, sealed

import sfcperf
from sfcperf.package.pack import pack
from sfcperf.package.people import Author
from sfcperf.package.verify import verify
from sfcperf.results.store import RunStore

TREE = Path(__file__).resolve().parents[3]


def test_a_package_with_authors_says_how_to_cite_it(package: Path, tmp_path: Path) -> None:
    authors = (*OPTIONS.authors, Author("van Tu, Nguyen"), Author("Plato"))
    run = RunStore.open(package.parent / "run-1")
    made = pack([run], tmp_path / "p.zip", replace(OPTIONS, authors=authors)).path
    content = yaml.safe_load(contents(made)["CITATION.cff"])
    assert content["authors"] == [
        {
            "family-names": "Lovelace",
            "given-names": "Ada",
            "orcid": "https://orcid.org/0000-0002-1825-0097",
        },
        {"family-names": "van Tu", "given-names": "Nguyen"},
        {"family-names": "Plato"},
    ]
    assert (content["type"], content["license"]) == ("dataset", "CC-BY-4.0")
    assert verify(made).holds


def test_a_package_without_authors_does_not(package: Path, tmp_path: Path) -> None:
    run = RunStore.open(package.parent / "run-1")
    made = pack([run], tmp_path / "p.zip").path
    assert "CITATION.cff" not in contents(made)
    assert "CITATION.cff" not in contents(made)["README.md"].decode()
    assert verify(made).holds


@pytest.mark.parametrize("content", [b"authors: [Mallory]\n", b"\xff", b""])
def test_one_that_was_changed_is_found(package: Path, tmp_path: Path, content: bytes) -> None:
    path = sealed(package, tmp_path / "p.zip", "CITATION.cff", content)
    assert "CITATION.cff does not follow" in finding(verify(path), "other files")


def test_that_of_the_tree_has_its_version_and_licence() -> None:
    content = yaml.safe_load((TREE / "CITATION.cff").read_text())
    project = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
    assert content["version"] == sfcperf.__version__
    assert content["license"] == project["license"]
