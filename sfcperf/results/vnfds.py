"""VNF descriptors in a run folder, with which the run can be repeated without the originals.

    vnfds/<first 12 digits of the SHA-256 of all files>/<descriptor and the files it imports>

Files keep their relative paths, so that imports resolve to the same content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.files import replacing

_DIGITS = 12


def keep_descriptors(folder: Path, descriptors: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Copy descriptors into `folder`, the run's `vnfds`, which is created only if there are any.

    `descriptors`: path in the workflow -> file. Returns entries for `vnfds` of run.json: `path` in
    the workflow, `file` in the run folder, `sha256` of the descriptor, and its imports by absolute
    paths, which a copy cannot replace. Raises InputError if a file cannot be read.
    """
    return [_keep(folder, given, file) for given, file in descriptors.items()]


def check_descriptors(
    kept: Sequence[Mapping[str, Any]], descriptors: Mapping[str, Path], where: str
) -> None:
    """Raises InputError if a descriptor of a run, or a file that it imports, has changed since the
    run began. `kept`: the result of `keep_descriptors` then."""
    for entry in kept:
        file = descriptors.get(entry["path"])
        if file is not None and _gather(file).name != Path(entry["file"]).parts[1]:
            raise InputError(
                f"the VNF descriptor {entry['path']}, or a file that it imports, has changed since "
                "the run began",
                where=where,
                hint=f"restore it from the copy in the run folder, {entry['file']}",
            )


def check_inside(files: Iterable[Path], folder: Path) -> None:
    """Raises InputError if one of these VNF descriptors, and files that they import, imports a file
    outside `folder`, a resolved path."""
    for file in files:
        for imported in _imports(file):
            if not (file.parent / imported).resolve().is_relative_to(folder):
                raise InputError(
                    f"the VNF descriptor imports a file that is elsewhere: {imported}",
                    where=str(file.relative_to(folder)),
                )


@dataclass(frozen=True)
class _Gathered:
    """A descriptor with all of its imports."""

    descriptor: Path
    """Relative to the common folder of the files."""
    contents: Mapping[Path, bytes]
    absolute: tuple[str, ...]
    """Imports by absolute paths, which are not in `contents`."""

    @property
    def name(self) -> str:
        """Name of a folder for exactly these files."""
        digest = hashlib.sha256()
        for path, content in sorted(self.contents.items()):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:_DIGITS]


def _keep(folder: Path, given: str, file: Path) -> dict[str, Any]:
    found = _gather(file)
    copies = folder / found.name
    for path, content in found.contents.items():
        copy = copies / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy) as beside:
            beside.write_bytes(content)
    return {
        "path": given,
        "file": str((copies / found.descriptor).relative_to(folder.parent)),
        "sha256": hashlib.sha256(found.contents[found.descriptor]).hexdigest(),
        "not_kept": list(found.absolute),
    }


def _gather(descriptor: Path) -> _Gathered:
    absolute: list[str] = []
    files = list(_files(descriptor, absolute, set()))
    root = Path(os.path.commonpath([file.parent for file in files]))
    contents = {file.relative_to(root): _read(file) for file in files}
    return _Gathered(descriptor.relative_to(root), contents, tuple(absolute))


def _files(file: Path, absolute: list[str], seen: set[Path]) -> Iterator[Path]:
    """A descriptor and its imports by relative paths, each once."""
    if file in seen:
        return
    seen.add(file)
    yield file
    for imported in _imports(file):
        if Path(imported).is_absolute():
            absolute.append(imported)
        elif (file.parent / imported).is_file():
            yield from _files(Path(os.path.normpath(file.parent / imported)), absolute, seen)


def _imports(file: Path) -> Iterator[str]:
    """Files in a TOSCA template's `imports`: strings, or `NAME: FILE`, or
    `NAME: {file: FILE}` (TOSCA Simple Profile in YAML 1.0, section 3.5.8)."""
    import yaml

    try:
        tree = yaml.safe_load(_read(file))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}", where=str(file)) from error
    entries = tree.get("imports") if isinstance(tree, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            named = value.get("file") if isinstance(value, dict) else value
            if isinstance(named, str):
                yield named


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            f"the VNF descriptor cannot be read: {error.strerror}", where=str(file)
        ) from error
