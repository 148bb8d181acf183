"""Files of a VNF descriptor: itself and what it imports, all in its folder.

tosca-parser would import any file of the machine, and any URL. So it is given one tree, into which
the types of all imports are merged, and opens nothing itself.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import yaml_input
from sfcperf.errors import InputError
from sfcperf.input_file import read_input

MAX_BYTES = 1 << 20
"""Most bytes of a descriptor and its imports together."""
MAX_FILES = 64
_WHAT = "the VNF descriptor"
_TYPES = (
    "artifact_types",
    "capability_types",
    "data_types",
    "group_types",
    "interface_types",
    "node_types",
    "policy_types",
    "relationship_types",
)
"""Sections of types, which a descriptor can import."""


@dataclass(frozen=True)
class DescriptorFile:
    """A descriptor, or a file that it imports, with its parsed content."""

    path: Path
    """Path relative to the descriptor's folder, without `..`."""
    content: bytes
    tree: Mapping[str, Any]
    imports: Mapping[Path, str]
    """Files that it imports, with paths like `path` -> prefix of the names of their types, which
    may be empty."""


def descriptor_files(descriptor: Path) -> tuple[DescriptorFile, ...]:
    """Read the descriptor, and after it all files that it imports, each once.

    Raises InputError if a file cannot be read, is not TOSCA or imports something outside of the
    descriptor's folder, or if together they are too large.
    """
    folder = descriptor.parent
    found: dict[Path, DescriptorFile] = {}
    waiting = deque([Path(descriptor.name)])
    bytes_left, values_left = MAX_BYTES, yaml_input.MAX_VALUES
    while waiting:
        path = waiting.popleft()
        if path in found:
            continue
        if len(found) == MAX_FILES:
            raise _error(descriptor, "imports too many files", f"{MAX_FILES} files in all")
        try:
            found[path] = _file(folder, path, bytes_left, values_left)
        except InputError as error:
            if len(found) == 0:  # the descriptor itself, which no other file imports
                raise
            problem = f"imports a file that cannot be used: {error.message}"
            raise _error(descriptor, problem, error.allowed) from None
        bytes_left -= len(found[path].content)
        values_left -= _count(found[path].tree)
        waiting.extend(found[path].imports)
    return tuple(found.values())


def merged(files: tuple[DescriptorFile, ...]) -> dict[str, Any]:
    """Merge the types that are imported into the descriptor's tree, and leave out its `imports`.
    `files`: what `descriptor_files` returned. The descriptor's own types take precedence over
    imported ones, and types of a nearer import over those of one behind it."""
    by_path = {file.path: file for file in files}
    descriptor = files[0]
    types: dict[str, dict[str, Any]] = {}
    # Nearest imports come last, so that they replace types of the same name.
    for path, prefix in reversed(list(_imported(descriptor, by_path))):
        for section in _TYPES:
            for name, kind in (by_path[path].tree.get(section) or {}).items():
                types.setdefault(section, {})[f"{prefix}.{name}" if prefix else name] = kind
    for section, imported in types.items():
        types[section] = {**imported, **(descriptor.tree.get(section) or {})}
    own = {key: value for key, value in descriptor.tree.items() if key != "imports"}
    return {**own, **types}


def _imported(
    descriptor: DescriptorFile, by_path: Mapping[Path, DescriptorFile]
) -> Iterator[tuple[Path, str]]:
    """Yield all imports with their prefixes, nearest first, each once."""
    seen = {descriptor.path}
    waiting = deque([descriptor])
    while waiting:
        for path, prefix in waiting.popleft().imports.items():
            if path not in seen:
                seen.add(path)
                yield path, prefix
                waiting.append(by_path[path])


def _read(file: Path, bytes_left: int) -> bytes:
    """Read a file of at most `bytes_left` bytes. Raises InputError."""
    try:
        return read_input(file, f"{_WHAT} {file}", max_bytes=bytes_left)
    except InputError as error:
        if error.allowed is None:
            raise
        # The file is too large. A user knows the limit for all files, not what is left of it.
        most = f"{MAX_BYTES} bytes in all, with imports"
        raise InputError(error.message, where=error.where, allowed=most) from None


def _file(folder: Path, path: Path, max_bytes: int, max_values: int) -> DescriptorFile:
    """Read one file, and check its sections and imports; `path` is relative to `folder`. Raises
    InputError, also for more bytes or values than these."""
    file = folder / path
    content = _read(file, max_bytes)
    tree = yaml_input.loads(content, f"{_WHAT} {file}", max_values=max_values)
    if not isinstance(tree, dict) or "tosca_definitions_version" not in tree:
        raise _error(
            file,
            "is not TOSCA: it has no tosca_definitions_version",
            "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0",
        )
    if "repositories" in tree:
        raise _error(file, "has repositories, from which it would import", _ALLOWED)
    for section in _TYPES:
        types = tree.get(section)
        if types is not None and not isinstance(types, dict):
            raise _error(file, f"has {section} that are no mapping", f"{section}: {{NAME: ...}}")
    imports = {
        _inside(folder, path, name): prefix for name, prefix in _imports(file, tree.get("imports"))
    }
    return DescriptorFile(path, content, tree, imports)


_ALLOWED = "imports of files in the descriptor's folder, by relative paths"


def _inside(folder: Path, importer: Path, name: str) -> Path:
    """Path of an import relative to the descriptor's folder. Raises InputError if it leads out of
    the folder."""
    path = Path(os.path.normpath(importer.parent / name))
    outside = path.is_absolute() or path.parts[:1] == ("..",)
    # The same holds for the target of a link: it must be in the folder.
    if outside or not _resolved(folder / path).is_relative_to(_resolved(folder)):
        raise _error(folder / importer, f"imports {name!r}, which is not in its folder", _ALLOWED)
    return path


def _resolved(path: Path) -> Path:
    """Return the path without links. Raises InputError if that cannot be told."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{_WHAT} {path} cannot be read: {error}") from None


def _imports(file: Path, entries: Any) -> Iterator[tuple[str, str]]:
    """Yield the files in `imports` with the prefixes of their types; `file` is the importing one.
    An entry is a string, `NAME: FILE`, `NAME: {file: FILE}` or `file: FILE` (TOSCA Simple Profile
    in YAML 1.3, section 3.6.8). Raises InputError."""
    if entries is not None and not isinstance(entries, list):
        raise _error(file, "has imports that are no list", "imports: [FILE, ...]")
    for entry in entries or ():
        named = entry.values() if isinstance(entry, dict) and "file" not in entry else [entry]
        for value in named:
            definition = value if isinstance(value, dict) else {"file": value}
            name, prefix = definition.get("file"), definition.get("namespace_prefix") or ""
            if not isinstance(name, str) or not name or not isinstance(prefix, str):
                raise _error(file, "has an import without a file", "imports: [FILE, ...]")
            scheme = name.partition(":")[0]
            if definition.get("repository") is not None or (scheme != name and scheme.isalnum()):
                raise _error(file, f"imports {name!r} from the network or by a URL", _ALLOWED)
            yield name, prefix


def _count(tree: Any) -> int:
    """Count keys and values as yaml_input does."""
    count, waiting = 0, [tree]
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, dict):
            count += len(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return count


def _error(file: Path, problem: str, allowed: str | None) -> InputError:
    return InputError(f"{_WHAT} {file} {problem}", allowed=allowed)
