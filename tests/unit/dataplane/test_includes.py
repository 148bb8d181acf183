"""Which C files may include which: as import-linter checks it for Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def _inclusions() -> Iterator[tuple[Path, Path]]:
    """Each C file and a file of the tree that it includes, relative to the tree."""
    for tree in ("dataplane", "vnfs"):
        for source in sorted((ROOT / tree).rglob("*.[ch]")):
            for name in INCLUDE.findall(source.read_text()):
                included = (source.parent / name).resolve()
                if included.exists():
                    yield source.relative_to(ROOT), included.relative_to(ROOT)


def test_the_data_plane_includes_no_function() -> None:
    upwards = [
        f"{source} includes {included}"
        for source, included in _inclusions()
        if source.parts[0] == "dataplane" and included.parts[0] == "vnfs"
        # Fuzzers call the parsers of both.
        if source.parts[1] != "fuzz"
    ]
    assert upwards == []


def test_no_function_includes_another_one() -> None:
    across = {
        (source.parts[1], included.parts[1])
        for source, included in _inclusions()
        if source.parts[0] == included.parts[0] == "vnfs" and source.parts[1] != included.parts[1]
    }
    assert across == set()
