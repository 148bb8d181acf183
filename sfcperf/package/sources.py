"""Files that a run's workflow refers to: VNF descriptors, and what those import."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.store import RunStore


@dataclass(frozen=True)
class WorkflowFiles:
    """Where a workflow's files are now, and where they go in a package."""

    base: str
    """Folder, relative to that of the run's workflow files, where relative paths start; `.` or
    folders deep enough for the `..` of the paths."""
    files: Mapping[str, Path]
    """Path relative to the folder of the run's workflow files -> the file."""
    missing: tuple[str, ...] = ()
    """What cannot be packed, and why."""


def workflow_files(store: RunStore) -> WorkflowFiles:
    """The files of a run's workflow, as they were when the run began.

    Raises InputError when the workflow cannot be loaded here: its plug-ins are missing.
    """
    from sfcperf.workflow.load import load_document

    document, base = store.workflow()
    if not _names_files(document):
        return WorkflowFiles(".", {})
    workflow = load_document(document, base)
    vnfds = {f.vnfd for s in workflow.scenarios for f in s.chain.functions if f.vnfd is not None}
    wanted = {path for vnfd in vnfds for path in (vnfd, *_imports(vnfd))}
    missing = [
        f"{vnfd.name} was changed after the run, or is gone"
        for vnfd in sorted(vnfds)
        if _sha256(vnfd) not in _hashes(store.resolved())
    ]
    top = _common(base.resolve(), wanted)
    if top is None:
        names = ", ".join(sorted(path.name for path in wanted))
        return WorkflowFiles(
            ".",
            {},
            (
                *missing,
                f"{names} is too far from the workflow's folder",
            ),
        )
    files = {str(path.relative_to(top)): path for path in sorted(wanted)}
    return WorkflowFiles(str(base.resolve().relative_to(top)), files, tuple(missing))


def _names_files(value: Any) -> bool:
    if isinstance(value, dict):
        return "vnfd" in value or any(_names_files(item) for item in value.values())
    return isinstance(value, list) and any(_names_files(item) for item in value)


def _common(base: Path, files: set[Path]) -> Path | None:
    """The folder that holds base and files; None when that would be a top-level folder of the
    machine, whose layout is nobody's business."""
    top = base
    while not all(path.is_relative_to(top) for path in files):
        top = top.parent
    return top if len(top.parts) > 2 or top == base else None


def _imports(vnfd: Path, seen: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Local files that a TOSCA template imports, and those that they do."""
    import yaml

    try:
        tree = yaml.safe_load(vnfd.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise InputError("the VNF descriptor cannot be read", where=str(vnfd)) from error
    imports = tree.get("imports") if isinstance(tree, dict) else None
    for entry in imports if isinstance(imports, list) else []:
        for name in _import_names(entry):
            path = (vnfd.parent / name).resolve()
            if path.is_file() and path not in seen:
                yield path
                yield from _imports(path, seen | {vnfd, path})


def _import_names(entry: Any) -> list[str]:
    """TOSCA Simple Profile 1.3, section 3.6.8: a name, `file: name`, or `title: either`."""
    if isinstance(entry, str):
        return [entry]
    if not isinstance(entry, dict):
        return []
    if isinstance(entry.get("file"), str):
        return [entry["file"]]
    return [name for value in entry.values() for name in _import_names(value)]


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _hashes(resolved: Any) -> set[str]:
    """SHA-256 of the VNFDs that the scenarios were resolved with."""
    if isinstance(resolved, dict):
        own = {resolved["sha256"]} if isinstance(resolved.get("sha256"), str) else set()
        return own.union(*map(_hashes, resolved.values()))
    if isinstance(resolved, list):
        return set().union(*map(_hashes, resolved))
    return set()
