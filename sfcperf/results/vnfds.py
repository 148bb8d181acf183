"""VNF descriptors in a run folder: the run can be repeated where the originals are not.

    vnfds/<first 12 digits of the SHA-256 of all files>/<descriptor and the files it imports>

Files keep their places relative to each other, so that imports lead to the same content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.files import replacing

_DIGITS = 12


def keep_descriptors(folder: Path, descriptors: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Copy descriptors into `folder`, the run's `vnfds`; nothing is made when there are none.

    `descriptors`: path as the workflow gives it -> file. Gives an entry of run.json's `vnfds` for
    each: `path` as given, `file` within the run folder, `sha256` of the descriptor, and what it
    imports by an absolute path, which a copy cannot stand in for. Raises InputError when a file
    cannot be read.
    """
    return [_keep(folder, given, file) for given, file in descriptors.items()]


def _keep(folder: Path, given: str, descriptor: Path) -> dict[str, Any]:
    absolute: list[str] = []
    contents = {file: _read(file) for file in dict.fromkeys(_files(descriptor, absolute, set()))}
    root = Path(os.path.commonpath([file.parent for file in contents]))
    relative = {file.relative_to(root): content for file, content in contents.items()}
    copies = folder / _digest(relative)[:_DIGITS]
    for path, content in relative.items():
        copy = copies / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy) as beside:
            beside.write_bytes(content)
    return {
        "path": given,
        "file": str((copies / descriptor.relative_to(root)).relative_to(folder.parent)),
        "sha256": hashlib.sha256(contents[descriptor]).hexdigest(),
        "not_kept": absolute,
    }


def _files(file: Path, absolute: list[str], seen: set[Path]) -> Iterator[Path]:
    """A descriptor and all that it imports from beside it, each once."""
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
    """Files that a TOSCA template names in `imports`: texts, or `NAME: FILE`, or
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


def _digest(contents: Mapping[Path, bytes]) -> str:
    digest = hashlib.sha256()
    for path, content in sorted(contents.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            f"the VNF descriptor cannot be read: {error.strerror}", where=str(file)
        ) from error
