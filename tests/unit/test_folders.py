"""No folder holds more modules than a newcomer can take in at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 25
"""Python modules in one folder, without those of its sub-folders."""
NO_MODULES = ("__init__.py", "conftest.py")


def test_no_folder_has_too_many_modules() -> None:
    trees = ("sfcperf", "drivers", "vnfs", "dataplane", "playbooks", "tests", "benchmarks")
    modules = Counter(
        str(file.parent.relative_to(ROOT))
        for tree in trees
        for file in (ROOT / tree).rglob("*.py")
        if file.name not in NO_MODULES
    )
    assert modules["sfcperf"] > 0
    assert {folder: held for folder, held in modules.items() if held > MOST} == {}
