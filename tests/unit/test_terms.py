"""One term per concept: names that docs/reference/glossary.md replaced do not come back."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = ("sfcperf", "drivers", "vnfs", "dataplane", "playbooks", "benchmarks", "examples")

REPLACED = {
    "demolition": "cleanup",
    "posts": "captures",
    "sightings": "observations",
    "judgement": "evaluation",
    "things": "resources",
    "asking": "retry",
    "patience": "retry",
    "patient": "retry",
    "patiently": "retry",
    "admission": "validation",
    "workshop": "LifecycleContext",
    "undivided": "(removed)",
    "departure": "drift",
    "neighbours": "concurrent_runs",
    "tally": "progress_state",
    "hostile": "zip_check",
    "sameness": "tolerance",
}
"""Word of a name -> what is said instead."""

OWN_NAMES = {"Region": "CloudSession", "Site": "ScenarioDeployment", "Ground": "RunNetworks"}
"""Whole names whose words are fine elsewhere."""


def _words(name: str) -> list[str]:
    """`HostileZip_check` -> hostile, zip, check."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def _names(file: Path) -> set[str]:
    source = io.BytesIO(file.read_bytes())
    tokens = tokenize.tokenize(source.readline)
    names = {t.string for t in tokens if t.type == tokenize.NAME}
    return {name for name in names if not keyword.iskeyword(name)} | {file.stem}


@pytest.mark.parametrize("tree", TREES)
def test_no_replaced_term_is_a_name(tree: str):
    found = [
        f"{file.relative_to(ROOT)}: {name}: say {instead}"
        for file in sorted((ROOT / tree).rglob("*.py"))
        for name in sorted(_names(file))
        for instead in {REPLACED.get(word) for word in _words(name)} | {OWN_NAMES.get(name)}
        if instead
    ]
    assert not found, "\n".join(found)


def test_the_words_of_a_name():
    assert _words("HostileZip_check2") == ["hostile", "zip", "check"]
