"""Files that a run's workflow refers to: VNF descriptors, what those import, and files in knobs.

The run folder has copies (sfcperf.results.provenance.vnfds and .files), sorted by content. A replay
needs them where the workflow's relative paths lead, so that factor levels which are part of a path
stay what they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.provenance.files import LARGE_BYTES, digest
from sfcperf.results.store import RunStore


@dataclass(frozen=True)
class WorkflowFiles:
    """Where a workflow's files are now, and where they go in a package."""

    base: str
    """Folder where relative paths start, relative to that of the run's workflow files. It is `.`,
    or so deep that the `..` of the paths do not lead out of the package."""
    files: Mapping[str, Path]
    """Path relative to the folder of the run's workflow files -> the file."""
    missing: tuple[str, ...] = ()
    """What a replay on another machine would lack, in words."""
    left_out: tuple[str, ...] = ()
    """Files in knobs, by their paths in the workflow, that are not packed, for whatever reason."""


def workflow_files(store: RunStore, *, large: bool = False) -> WorkflowFiles:
    """Return the files of a run's workflow, as they were when the run began. Files that are far
    apart from each other are not packed: `missing` says so, and `files` is empty. `large`: whether
    to pack large files in knobs."""
    _, folder = store.workflow()
    base = Path(os.path.normpath(folder.absolute()))
    manifest = store.manifest()
    entries, named = manifest["vnfds"], manifest.get("files", ())
    missing = [reason for entry in entries for reason in _lacking(store, entry)]
    places: dict[Path, Path] = {}
    for entry in entries:
        places |= _places(store, base, entry)
    left_out = []
    for entry in named:
        original = Path(os.path.normpath(base / entry["path"]))
        source = None if Path(entry["path"]).is_absolute() else _unchanged(store, entry, original)
        if source is None:
            missing.append(f"an unchanged {entry['path']}, or a relative path to it")
        if source is None or (entry["bytes"] > LARGE_BYTES and not large):
            left_out.append(entry["path"])
        else:
            places[original] = source
    top = _common(base, set(places))
    if top is None:
        far = ", ".join(entry["path"] for entry in (*entries, *named))
        missing.append(f"files near the workflow: {far}")
        return WorkflowFiles(".", {}, tuple(missing), tuple(entry["path"] for entry in named))
    files = {str(place.relative_to(top)): places[place] for place in sorted(places)}
    return WorkflowFiles(str(base.relative_to(top)), files, tuple(missing), tuple(left_out))


def _unchanged(store: RunStore, entry: Mapping[str, Any], original: Path) -> Path | None:
    """Return the run folder's copy of a file in knobs, or else the file itself if it is as it was;
    None if both are not. `entry`: of `files` in run.json."""
    for path in (store.files / entry["sha256"], original):
        try:
            if digest(path)[1] == entry["sha256"]:
                return path
        except InputError:
            continue
    return None


def _lacking(store: RunStore, entry: Mapping[str, Any]) -> list[str]:
    """Return what a replay would lack of one descriptor, in words. `entry`: of `vnfds` in
    run.json."""
    name = entry["path"]
    lacking = []
    if Path(name).is_absolute():
        lacking.append(f"a relative path to the VNF descriptor {name}")
    if _sha256(store.folder / entry["file"]) != entry["sha256"]:
        lacking.append(f"an unchanged copy of the VNF descriptor {name}")
    return lacking


def _places(store: RunStore, base: Path, entry: Mapping[str, Any]) -> dict[Path, Path]:
    """Return, for a descriptor and each file that it imports: original path -> copy in the run
    folder. `base`: folder where the workflow's relative paths started; `entry`: of `vnfds` in
    run.json."""
    copy = Path(entry["file"])
    # vnfds/<digest>/<place of the descriptor among its imports>
    root, inside = Path(*copy.parts[:2]), copy.parts[2:]
    original = Path(os.path.normpath(base / entry["path"]))
    # The folder that `root` is a copy of: as many levels above the descriptor as in the copy.
    original_root = original.parents[len(inside) - 1] if inside else original
    copies = store.folder / root
    files = (path for path in sorted(copies.rglob("*")) if path.is_file())
    return {original_root / path.relative_to(copies): path for path in files}


def _common(base: Path, files: set[Path]) -> Path | None:
    """Return the deepest folder that holds base and files. None if that is a top-level folder of
    the machine: the package would tell the machine's layout."""
    top = base
    while not all(path.is_relative_to(top) for path in files):
        top = top.parent
    return top if len(top.parts) > 2 or top == base else None


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file; empty, which matches no hash, if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
