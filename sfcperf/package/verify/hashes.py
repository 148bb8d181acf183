"""Check that all files are as they were packed, none missing and none added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path

from sfcperf.input_file import open_input
from sfcperf.package import layout
from sfcperf.package.archive import PackedFile, hash_file
from sfcperf.package.checks import Check, judged

NAME = "hashes"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_MAX_LINE = layout.MAX_PATH_BYTES + 80


def check_hashes(folder: Path, names: list[str]) -> tuple[Check, Mapping[str, PackedFile]]:
    """Compare the files of an unpacked package with its list of hashes; also return each file's
    size and hash. The list cannot vouch for itself: a signature does, or the place from which the
    package was fetched."""
    files = {name: hash_file(folder / name) for name in names}
    if layout.HASHES not in files:
        return Check(NAME, "failed", f"there is no {layout.HASHES}"), files
    listed: dict[str, str] = {}
    findings = []
    for number, line in enumerate(_lines(folder / layout.HASHES), start=1):
        if number > layout.MAX_ENTRIES:
            findings.append(f"{layout.HASHES} lists more than {layout.MAX_ENTRIES} files")
            break
        match = _LINE.fullmatch(line)
        if match is None:
            findings.append(f"{layout.HASHES}:{number} is not a line of sha256sum")
        elif match[2] in listed:
            findings.append(f"{match[2]} is listed twice")
        else:
            listed[match[2]] = match[1]
    present = files.keys() - {layout.HASHES}
    findings += [f"{name} is missing" for name in sorted(listed.keys() - present)]
    findings += [f"{name} is not in the list" for name in sorted(present - listed.keys())]
    findings += [
        f"{name} was changed"
        for name in sorted(present & listed.keys())
        if files[name].sha256 != listed[name]
    ]
    return judged(NAME, findings, f"{len(listed)} files are as they were packed; no others"), files


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines without their newlines. A line that is too long comes in parts, which do not
    pass for lines of a list of hashes."""
    with BufferedReader(open_input(path, "the list of files")) as file:
        while line := file.readline(_MAX_LINE):
            yield line.decode(errors="replace").removesuffix("\n")
