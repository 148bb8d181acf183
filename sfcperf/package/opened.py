"""An unpacked package, read with suspicion: nothing in it is executed, imported or followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError
from sfcperf.package import layout
from sfcperf.package.read_json import read_json
from sfcperf.results.store import RunStore
from sfcperf.workflow.schema import shipped_schema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_LONGEST_MESSAGE = 200


@dataclass(frozen=True)
class Package:
    """A package in a folder of our own."""

    folder: Path
    document: Mapping[str, Any]
    """package.json; fits its schema."""

    @property
    def runs(self) -> list[RunStore]:
        """Its run folders."""
        return [RunStore(self.folder / run["folder"]) for run in self.document["runs"]]

    def base(self, store: RunStore) -> Path:
        """Where relative paths of a run's workflow start: inside the package, or nowhere.
        Raises InputError."""
        _, base = store.workflow()
        found = (store.folder / base).resolve()
        if not found.is_relative_to(self.folder.resolve()):
            raise InputError(
                "the workflow's files lie outside the package",
                where=str(store.folder.relative_to(self.folder)),
            )
        return found


def open_package(folder: Path) -> Package:
    """Read package.json. Raises InputError when it is none, or of a newer SFCPerf."""
    path = folder / layout.MANIFEST
    if not path.is_file():
        raise InputError(
            f"this is not a package: it has no {layout.MANIFEST}",
            hint="`sfcperf pack RUN -o FILE.zip` makes one",
        )
    document = read_json(path)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > layout.FORMAT:
        raise InputError(
            f"the package was made by a newer SFCPerf: schema_version {version}",
            where=layout.MANIFEST,
            allowed=f"schema_version {layout.FORMAT}",
            hint="read it with the SFCPerf that made it, or a newer one",
        )
    problems = misfits("package", document)
    if problems:
        raise InputError(f"the package is damaged: {problems[0]}", where=layout.MANIFEST)
    missing = [run["folder"] for run in document["runs"] if not (folder / run["folder"]).is_dir()]
    if missing:
        raise InputError("the package is damaged: a run is missing", where=missing[0])
    return Package(folder, document)


def misfits(schema: str, document: Any) -> list[str]:
    """What in a document is not as `schemas/SCHEMA.schema.json` says, with its place."""
    return [
        f"{'/'.join(map(str, error.absolute_path)) or 'the document'}: "
        f"{error.message[:_LONGEST_MESSAGE]}"
        for error in _validator(schema).iter_errors(document)
    ]


@cache
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(shipped_schema(schema))
