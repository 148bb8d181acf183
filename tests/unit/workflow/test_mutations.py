"""Mutated workflows: each gives a Workflow, or an error with a pointer that a user can follow."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, is_gate
from support.workflows.mutations import (
    HOSTILE,
    JSON,
    SHIPPED,
    UNHURRIED,
    WORKFLOWS,
    check,
    mutate,
    places,
)

from sfcperf.errors import InputError
from sfcperf.workflow.document import pointer
from sfcperf.workflow.load import load_document

MANY = examples(10_000, *UNHURRIED, gate=100)


@MANY
@given(st.data())
def test_mutated_shipped_workflows(data: st.DataObject) -> None:
    whole = copy.deepcopy(data.draw(st.sampled_from(SHIPPED), label="workflow"))
    for _ in range(data.draw(st.integers(1, 4), label="mutations")):
        mutate(data, whole)
    check(whole)


@MANY
@given(st.data())
def test_mutated_presets_and_overrides(data: st.DataObject) -> None:
    whole = copy.deepcopy(data.draw(st.sampled_from(SHIPPED)))
    mutate(data, whole["presets"])
    path = data.draw(st.sampled_from(places(whole)[1:]).map(pointer.to_pointer) | st.text())
    value = data.draw(HOSTILE.map(str) | st.text() | JSON.map(json.dumps))
    try:
        load_document(whole, WORKFLOWS, overrides=("preset=short", f"{path}={value}"))
    except InputError as error:
        assert error.where is not None


@MANY
@given(st.data())
def test_mutated_variants(data: st.DataObject) -> None:
    """Changes anywhere in a workflow, of any value: told at the change, or in its place."""
    whole = copy.deepcopy(data.draw(st.sampled_from(SHIPPED)))
    found = places({key: value for key, value in whole.items() if key != "variants"})[1:]
    dotted = st.sampled_from(found).map(lambda path: ".".join(map(str, path)))
    path = st.sampled_from(found).map(pointer.to_pointer) | dotted | st.text(min_size=1)
    value = st.sampled_from(found).map(lambda path: copy.deepcopy(pointer.value_at(whole, path)))
    changes = st.dictionaries(path, value | HOSTILE | JSON, max_size=3)
    names = ["first", "second", "third"][: data.draw(st.integers(2, 3), label="variants")]
    whole["variants"] = {name: data.draw(changes, label=name) for name in names}
    check(whole)


def test_shell_metacharacters_run_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for whole in SHIPPED[:2] if is_gate() else SHIPPED:
        for path in places(whole):
            if isinstance(pointer.value_at(whole, path), str) and path[0] != "presets":
                changed = copy.deepcopy(whole)
                pointer.value_at(changed, path[:-1])[path[-1]] = "$(touch pwned); touch pwned"
                check(changed)
    assert list(tmp_path.iterdir()) == []
