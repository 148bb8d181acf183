"""Is the SFCPerf in a package that which made its runs, and is all that it needs pinned."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import compat32
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.package.opened import Package

_MAX_BYTES = 1 << 22
"""Most bytes of the wheel's metadata, and of the list of what it needs."""
_PINNED = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.!+_*-]+( *;[^#]*?)?"
    r"( --hash=sha256:[0-9a-f]{64})+"
)
"""A requirement with version and hashes, its continued lines joined."""


def software_findings(package: Package) -> Iterator[str]:
    """Yield what is wrong with the SFCPerf in a package; nothing if it has none. Nothing of it is
    imported or installed."""
    software = package.document.get("software")
    if software is None:
        return
    try:
        yield from _wheel_findings(package, software)
        yield from _unpinned(package.folder / software["requirements"], software["requirements"])
    except InputError as error:
        yield str(error)


def _wheel_findings(package: Package, software: Mapping[str, Any]) -> Iterator[str]:
    name = software["wheel"]
    distribution, version = _name_and_version(package.folder / name, name)
    if distribution != "sfcperf":
        yield f"{name} is a wheel of {distribution}"
    for store in package.runs:
        made_with = store.manifest()["sfcperf_version"]
        if made_with != version:
            yield f"{name} is SFCPerf {version}, and {store.folder.name} was made with {made_with}"


def _name_and_version(wheel: Path, name: str) -> tuple[str, str]:
    """Read name and version from a wheel's metadata. Raises InputError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            (entry,) = (
                e for e in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", e)
            )
            with archive.open(entry) as file:
                metadata = BytesParser(policy=compat32).parsebytes(file.read(_MAX_BYTES))
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        raise InputError(f"this is not a wheel: {error}", where=name) from error
    return str(metadata["Name"]), str(metadata["Version"])


def _unpinned(file: Path, name: str) -> Iterator[str]:
    """Yield the requirements without version or hash, which an installer could fetch otherwise."""
    text = read_input(file, name, max_bytes=_MAX_BYTES).decode(errors="replace")
    for line in re.sub(r"[ \t]*\\\n[ \t]*", " ", text).splitlines():
        if line.strip() and not line.startswith("#") and not _PINNED.fullmatch(line.rstrip()):
            yield f"{name}: no version and hash, or more than these: {line[:80]}"
