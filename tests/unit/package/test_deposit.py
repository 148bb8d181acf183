"""pack --deposit: metadata of a record as archives that run InvenioRDM accept them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.records.packages import OPTIONS, contents

from sfcperf.errors import InputError
from sfcperf.package.deposit import deposit
from sfcperf.package.pack_document import PackOptions

AUTHOR = ("--author", "Ada Lovelace <0000-0002-1825-0097>", "--author", "Plato")


def text(least: int = 1, **others: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": least, **others}


def values(of: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": least, "uniqueItems": True}


def entry(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def term(*known: str) -> dict[str, Any]:
    """A term of a vocabulary, of which these are the ones that InvenioRDM ships."""
    return entry({"id": {"enum": known}})


DAY = {"pattern": r"^\d{4}-\d\d-\d\d$"}
PERSON = entry(
    {"type": {"const": "personal"}, "family_name": text()},
    {
        "given_name": text(),
        "identifiers": values(
            entry({"scheme": {"enum": ["orcid", "gnd", "isni", "ror"]}, "identifier": text()})
        ),
    },
)
RECORD = entry(
    {
        "access": entry(
            {"record": {"enum": ["public", "restricted"]}, "files": {"const": "public"}}
        ),
        "files": entry({"enabled": {"type": "boolean"}}),
        "metadata": entry(
            {
                "resource_type": term("dataset", "software", "workflow", "other"),
                "creators": values(entry({"person_or_org": PERSON}), 1),
                "title": text(3),
                "publication_date": text(**DAY),
            },
            {
                "description": text(3),
                "additional_descriptions": values(
                    entry(
                        {
                            "description": text(3),
                            "type": term("abstract", "methods", "technical-info"),
                        }
                    )
                ),
                "rights": values(entry({"id": text(pattern="^[a-z0-9][a-z0-9.+-]*$")})),
                "subjects": values(entry({"subject": text()})),
                "dates": values(
                    entry(
                        {
                            "date": text(pattern=r"^\d{4}-\d\d-\d\d/\d{4}-\d\d-\d\d$"),
                            "type": term("collected", "created", "other"),
                        }
                    )
                ),
                "version": text(maxLength=191),
                "formats": values(text()),
                "related_identifiers": values(
                    entry(
                        {
                            "identifier": text(),
                            "scheme": {"enum": ["doi", "url", "arxiv"]},
                            "relation_type": term("issupplementto", "cites", "references"),
                        }
                    )
                ),
            },
        ),
    }
)
"""What InvenioRDM requires of a draft, and of the fields that SFCPerf writes, by its metadata
reference (docs/reference/metadata.md of docs-invenio-rdm) and its schemas
(services/schemas/metadata.py of invenio-rdm-records)."""


def deposited(sfcperf: Callable[..., int], package: Path, folder: Path, *options: object) -> Any:
    run = package.parent / "run-1"
    file = folder / "record.json"
    argv = ("pack", run, "-o", folder / "p.zip", "--deposit", file, *AUTHOR, *options)
    assert sfcperf(*argv) == 0
    return json.loads(file.read_text())


def test_a_record_is_as_inveniordm_wants_it(
    sfcperf: Callable[..., int], package: Path, tmp_path: Path
) -> None:
    papers = ("--paper", "10.1109/5.771073", "--paper", "https://doi.org/10.1145/1?a=b(c)")
    record = deposited(sfcperf, package, tmp_path, "--license", "CC-BY-4.0", *papers)
    Draft202012Validator(RECORD).validate(record)
    metadata = record["metadata"]
    document = json.loads(contents(tmp_path / "p.zip")["package.json"])
    assert metadata["title"] == document["title"]
    assert metadata["rights"] == [{"id": "cc-by-4.0"}]
    assert metadata["creators"][0]["person_or_org"] == {
        "type": "personal",
        "family_name": "Lovelace",
        "given_name": "Ada",
        "identifiers": [{"scheme": "orcid", "identifier": "0000-0002-1825-0097"}],
    }
    assert metadata["creators"][1]["person_or_org"] == {"type": "personal", "family_name": "Plato"}
    found = [each["identifier"] for each in metadata["related_identifiers"]]
    assert found == ["10.1109/5.771073", "10.1145/1?a=b(c)"]
    assert "Platinum 8481C" in metadata["additional_descriptions"][0]["description"]
    assert re.fullmatch(r"2025-\d\d-\d\d/2025-\d\d-\d\d", metadata["dates"][0]["date"])


def test_what_is_not_known_is_left_out(
    sfcperf: Callable[..., int], package: Path, tmp_path: Path
) -> None:
    record = deposited(sfcperf, package, tmp_path)
    Draft202012Validator(RECORD).validate(record)
    assert not {"rights", "related_identifiers"} & record["metadata"].keys()


def test_a_file_that_exists_is_kept_unless_it_may_be_replaced(
    sfcperf: Callable[..., int], package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.json"
    file.write_text("mine")
    argv = ("pack", package.parent / "run-1", "-o", tmp_path / "p.zip", "--deposit", file, *AUTHOR)
    assert sfcperf(*argv) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]
    assert sfcperf(*argv, "--overwrite") == 0
    assert json.loads(file.read_text())["files"] == {"enabled": True}


@pytest.mark.parametrize(
    ("file", "papers", "options", "told"),
    [
        ("record.json", (), PackOptions(), "author"),
        (None, ("10.1109/5.771073",), OPTIONS, "--deposit"),
        ("record.json", ("5.771073",), OPTIONS, "not a DOI"),
        ("record.json", ("10.1109/a b",), OPTIONS, "not a DOI"),
        ("p.zip", (), OPTIONS, "the package itself"),
        ("none/record.json", (), OPTIONS, "no such folder"),
    ],
)
def test_bad_input_is_refused(
    tmp_path: Path, file: str | None, papers: tuple[str, ...], options: PackOptions, told: str
) -> None:
    path = None if file is None else tmp_path / file
    with pytest.raises(InputError, match=told):
        deposit(path, papers, tmp_path / "p.zip", replace(options, overwrite=True))
    assert not list(tmp_path.iterdir())
