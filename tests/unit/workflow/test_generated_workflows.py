"""Workflows generated from the schema, and what the fast library lets pass that jsonschema does
not."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.tiers import examples
from support.workflows.from_schema import from_schema
from support.workflows.mutations import SHIPPED, UNHURRIED, check, mutate
from support.workflows.plugins import document

from sfcperf.workflow.schema import compose, effective_schema
from sfcperf.workflow.validate import Validator

effective = cache(effective_schema)


@examples(500, *UNHURRIED, gate=25)
@given(st.data())
def test_what_fits_fits_by_jsonschema(data: st.DataObject) -> None:
    """The two libraries differ in details. The fast one lets nothing pass that the other does
    not."""
    whole = copy.deepcopy(data.draw(st.sampled_from(SHIPPED), label="workflow"))
    mutate(data, whole)
    schema = effective()
    for section in whole.keys() & schema["$defs"].keys():
        own = {"$ref": f"#/$defs/{section}", "$defs": schema["$defs"]}
        if not Validator(own).misfits(whole[section]):
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
