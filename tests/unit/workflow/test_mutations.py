"""Mutated workflows: each gives a Workflow, or an error with a pointer that a user can follow."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.from_schema import from_schema
from support.tiers import examples, is_gate
from support.workflow_plugins import document

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.document import pointer
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import plan_document
from sfcperf.workflow.schema import compose, effective_schema
from sfcperf.workflow.validate import all_fit

WORKFLOWS = Path(__file__).parents[3] / "workflows"
SHIPPED = [json.loads(path.read_text()) for path in sorted(WORKFLOWS.glob("*.json"))]
UNHURRIED = (HealthCheck.too_slow, HealthCheck.filter_too_much)
MANY = examples(10_000, *UNHURRIED, gate=100)

HOSTILE = st.sampled_from(
    [
        "${chain_length}", "${topology}", "${", "${}", "x${vcpus}y", "$(touch pwned)", "; rm -rf .",
        "../../etc/passwd", "-rf", "a" * 5000, "\u202e", "\x00", "\ud800", "1e9", "T2", "T9", "fwd",
        0, 1, -1, 33, 2**31, 2**63, 2**200, 0.5, 1.0, 1e300, float("nan"), float("inf"), True, None,
        [], {}, [[]], {"": ""}, {"name": "T1"}, {"$ref": "#/$defs/chain"}, "forwarder", "router",
    ]
).map(copy.deepcopy)  # fmt: skip
"""Copies: a later mutation changes what was drawn, and may put it into itself."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


def places(value: Any, at: pointer.Path = ()) -> list[pointer.Path]:
    found = [at]
    if isinstance(value, dict):
        found += [path for key, item in value.items() for path in places(item, (*at, key))]
    if isinstance(value, list):
        found += [path for i, item in enumerate(value) for path in places(item, (*at, i))]
    return found


def mutate(data: st.DataObject, document: dict[str, Any]) -> None:
    """One change somewhere: replace, delete, rename, insert, repeat, or copy from elsewhere."""
    path = data.draw(st.sampled_from(places(document)[1:] or [()]), label="place")
    if not path:
        return
    parent, last = pointer.value_at(document, path[:-1]), path[-1]
    change = data.draw(
        st.sampled_from(["hostile", "json", "delete", "rename", "insert", "repeat", "move"]),
        label="change",
    )
    if change in ("hostile", "json"):
        parent[last] = data.draw(HOSTILE if change == "hostile" else JSON, label="value")
    elif change == "delete":
        del parent[last]
    elif change == "move":
        source = data.draw(st.sampled_from(places(document)[1:]), label="source")
        parent[last] = copy.deepcopy(pointer.value_at(document, source))
    elif isinstance(parent, list):
        parent.insert(0, copy.deepcopy(parent[last]) if change == "repeat" else None)
    elif change == "rename":
        parent[data.draw(st.text(max_size=6) | st.just(f"{last}x"))] = parent.pop(last)
    else:
        parent[data.draw(st.text(max_size=6))] = data.draw(HOSTILE | JSON)


def check(document: dict[str, Any]) -> list[str]:
    """Load it; an error's pointers lead into the document. Gives what the error says."""
    try:
        workflow = load_document(document, WORKFLOWS)
    except WorkflowError as error:
        findings = (error, *error.others)
        for finding in findings:
            assert finding.message
            assert isinstance(finding.where, str)
            parts = pointer.parts(finding.where)
            assert exists({"infrastructure": {}, **document}, parts[:-1]), str(finding)
        return [finding.message for finding in findings]
    assert plan_document(workflow)["trials"] > 0
    json.dumps(workflow.document).encode()
    return []


def exists(value: Any, parts: tuple[str, ...]) -> bool:
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return True


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


effective = cache(effective_schema)


@examples(500, *UNHURRIED, gate=25)
@given(st.data())
def test_what_fits_at_once_fits_by_jsonschema(data: st.DataObject) -> None:
    """Two validators differ in details. That of `all_fit` lets nothing pass that the other does
    not."""
    whole = copy.deepcopy(data.draw(st.sampled_from(SHIPPED), label="workflow"))
    mutate(data, whole)
    schema = effective()
    for section in whole.keys() & schema["$defs"].keys():
        if all_fit(schema, [(section, whole[section])]):
            own = {"$ref": f"#/$defs/{section}", "$defs": schema["$defs"]}
            judge = Draft202012Validator(own, format_checker=Draft202012Validator.FORMAT_CHECKER)
            assert list(judge.iter_errors(whole[section])) == []


SECTIONS = ("topology", "endpoints", "chain", "probes", "monitors", "design", "publish", "figures")


@examples(2_500, *UNHURRIED, gate=25)
@given(data=st.data())
def test_generated_workflows(fakes: Any, data: st.DataObject) -> None:
    """Sections that fit the schema, put together: valid as a whole, or a clear contradiction."""
    used = [("probe", "echo"), ("probe", "stream"), ("monitor", "watch"), ("publisher", "report")]
    schema = compose([*used, ("driver", "local"), ("vnf", "copier")])
    schema["$defs"]["monitor"]["properties"]["monitor"]["enum"] = ["watch"]
    sections = data.draw(st.sets(st.sampled_from(SECTIONS), max_size=3), label="sections")
    whole = document()
    for section in sorted(sections):
        fitting = from_schema(schema["$defs"][section], schema, ["fwd", "node1", "echo", "n"])
        whole[section] = data.draw(fitting, label=section)
    # What fits the schema is refused for what it means, never for its form.
    assert not [message for message in check(whole) if "must be" in message or "form" in message]


def test_shell_metacharacters_run_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for whole in SHIPPED[:2] if is_gate() else SHIPPED:
        for path in places(whole):
            if isinstance(pointer.value_at(whole, path), str) and path[0] != "presets":
                changed = copy.deepcopy(whole)
                pointer.value_at(changed, path[:-1])[path[-1]] = "$(touch pwned); touch pwned"
                check(changed)
    assert list(tmp_path.iterdir()) == []
