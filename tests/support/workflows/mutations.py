"""Changes to the shipped workflows, and what their errors must give."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck
from hypothesis import strategies as st

from sfcperf.errors import WorkflowError
from sfcperf.workflow.document import pointer
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import plan_document

WORKFLOWS = Path(__file__).parents[3] / "workflows"
SHIPPED = [json.loads(path.read_text()) for path in sorted(WORKFLOWS.glob("*.json"))]
UNHURRIED = (HealthCheck.too_slow, HealthCheck.filter_too_much)

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
