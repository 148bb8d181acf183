"""An unpacked package, read with suspicion: nothing in it is executed, imported or followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.package import layout
from sfcperf.package.read_json import read_json
from sfcperf.results.records import TrialRecord
from sfcperf.results.schema_check import misfit
from sfcperf.results.store import RunFile, RunStore

UNPACKING = "`unzip PACKAGE.zip -d DIR` unpacks a package: its run folders are in DIR/runs"


class PackagedRun(RunStore):
    """A run folder in a private copy of a package. It does not change, so that its trials are read
    only once."""

    is_read_only = True
    package: Path | None = None
    """Path of the package, if it is shown instead of the private copy; None: the copy is shown."""
    _trials: list[TrialRecord] | None = None

    @property
    def shown_folder(self) -> Path:
        """Path that users are shown: the package's own, if it is set, else the private copy's."""
        return self.package or self.folder

    @property
    def report(self) -> Path:
        """Path of the report. If the package itself is shown, no file has this path, so that no
        page links to it."""
        return self.shown_folder / RunFile.REPORT

    def check_writable(self) -> None:
        """Raise InputError: nothing is ever written into a package."""
        raise InputError(
            "this would be written into a package",
            where=str(self.shown_folder),
            hint=f"{UNPACKING}; or name an output file (-o), where the verb has one",
        )

    def workflow(self) -> tuple[dict[str, Any], Path]:
        """Read the workflow. Raises InputError if its relative paths start outside the package."""
        document, base = super().workflow()
        # The run folder is runs/RUN_ID of the package.
        root = self.folder.resolve().parent.parent
        if not base.resolve().is_relative_to(root):
            raise InputError(
                "the workflow's files lie outside the package",
                where=str(self.folder.relative_to(self.folder.parent.parent)),
            )
        return document, base

    def trials(self) -> list[TrialRecord]:
        """Read the trials at the first call, and keep them."""
        if self._trials is None:
            self._trials = super().trials()
        return self._trials


@dataclass(frozen=True)
class Package:
    """A package that is unpacked in a private folder."""

    folder: Path
    document: Mapping[str, Any]
    """Content of package.json, which fits its schema."""

    @cached_property
    def runs(self) -> list[PackagedRun]:
        """Its run folders."""
        return [PackagedRun(self.folder / run["folder"]) for run in self.document["runs"]]

    def base(self, store: RunStore) -> Path:
        """Return the folder where relative paths of a run's workflow start. It is inside the
        package, and need not exist. Raises InputError if it is outside."""
        _, base = store.workflow()
        return base.resolve()


def open_package(folder: Path) -> Package:
    """Read package.json of an unpacked package. Raises InputError when the folder is no package, is
    damaged, or was made by a newer SFCPerf."""
    path = folder / layout.MANIFEST
    if not path.is_file():
        raise InputError(
            f"this is not a package: it has no {layout.MANIFEST}",
            hint=_inside(folder) or "`sfcperf pack RUN -o FILE.zip` makes one",
        )
    document = read_json(path, layout.MANIFEST)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > layout.FORMAT:
        raise InputError(
            f"the package was made by a newer SFCPerf: schema_version {version}",
            where=layout.MANIFEST,
            allowed=f"schema_version {layout.FORMAT}",
            hint="read it with the SFCPerf that made it, or a newer one",
        )
    problem = problem_of("package", document)
    if problem:
        raise InputError(f"the package is damaged: {problem}", where=layout.MANIFEST)
    folders = [run["folder"] for run in document["runs"]]
    if len(set(folders)) < len(folders):
        raise InputError("the package is damaged: a run is named twice", where=layout.MANIFEST)
    missing = [run["folder"] for run in document["runs"] if not (folder / run["folder"]).is_dir()]
    if missing:
        raise InputError("the package is damaged: a run is missing", where=missing[0])
    return Package(folder, document)


def _inside(folder: Path) -> str | None:
    """Return a hint if the package was zipped again with the folder around its files, else None."""
    found = next(folder.glob(f"*/{layout.MANIFEST}"), None)
    if found is None:
        return None
    return (
        f"its files are in the folder {found.parent.name}: zip what is in it, without the folder "
        "itself (`zip -r ../FILE.zip .`)"
    )


def problem_of(schema: str, document: Any) -> str | None:
    """Say where a document first differs from `schemas/SCHEMA.schema.json`, and why; None if it
    fits."""
    wrong = misfit(schema, document)
    if wrong is None:
        return None
    pointer, message = wrong
    return f"{pointer.removeprefix('/') or 'the document'}: {message}"
