"""Check that all files are as they were packed, none missing and none added."""

from __future__ import annotations

import re
from pathlib import Path

from sfcperf.package import layout
from sfcperf.package.archive import hash_file
from sfcperf.package.checks import Check, judged

NAME = "hashes"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_MAX_BYTES = layout.MAX_ENTRIES * (layout.MAX_PATH_BYTES + 80)


def check_hashes(folder: Path, names: list[str]) -> Check:
    """Compare the files of an unpacked package with its list. The list itself is not covered: a
    signature, or the place from which the package was fetched, vouches for it."""
    path = folder / layout.HASHES
    if not path.is_file():
        return Check(NAME, "failed", f"there is no {layout.HASHES}")
    if path.stat().st_size > _MAX_BYTES:
        return Check(NAME, "failed", f"{layout.HASHES} is too large to be a list of files")
    listed: dict[str, str] = {}
    findings = []
    text = path.read_bytes().decode(errors="replace")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            findings.append(f"{layout.HASHES}:{number} is not a line of sha256sum")
        elif match[2] in listed:
            findings.append(f"{match[2]} is listed twice")
        else:
            listed[match[2]] = match[1]
    present = set(names) - {layout.HASHES}
    findings += [f"{name} is missing" for name in sorted(listed.keys() - present)]
    findings += [f"{name} is not in the list" for name in sorted(present - listed.keys())]
    findings += [
        f"{name} was changed"
        for name in sorted(present & listed.keys())
        if hash_file(folder / name).sha256 != listed[name]
    ]
    return judged(NAME, findings, f"{len(listed)} files are as they were packed; no others")
