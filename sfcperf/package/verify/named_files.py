"""Are the files that the workflow of a run names those with which it ran."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfcperf.package import layout
from sfcperf.package.archive import hash_file
from sfcperf.results.store import RunFile, RunStore


def lacking(store: RunStore, manifest: Mapping[str, Any]) -> list[str]:
    """Return the files in knobs that are not in the package, by their paths in the workflow."""
    return [entry["path"] for entry, file in _named(store, manifest) if file is None]


def file_differences(store: RunStore, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield, in words, which files in knobs are others than run.json says."""
    for entry, file in _named(store, manifest):
        if file is not None and hash_file(file).sha256 != entry["sha256"]:
            inside = file.relative_to(store.folder.resolve().parent.parent)
            yield f"{inside} is not the file {entry['path']} of {RunFile.MANIFEST}: other SHA-256"


def _named(
    store: RunStore, manifest: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], Path | None]]:
    """Yield each entry of `files` in run.json with the file in the package; None: there is none.
    Nothing outside the run's workflow files is looked at."""
    folder = store.folder.resolve()
    own = folder.parent.parent / layout.WORKFLOW_FILES / folder.name
    packed = {path for path in own.rglob("*") if path.is_file()}
    _, base = store.workflow()
    for entry in manifest.get("files", ()):
        place = Path(os.path.normpath(base.resolve() / entry["path"]))
        yield entry, place if place in packed else None
