"""Numbers in paths, queries and keys have decimal digits, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sfcperf.dataplane.sdnmon.controller.models import NotificationsQuery
from sfcperf.rest.numbers import from_text
from sfcperf.results.documents import at_path
from sfcperf.vnfs.rule_interface.api import Paging, _PathPort, _PathProtocol
from sfcperf.workflow.document import pointer

WRONG = ["1_0", "٦", "²", " 1", "1 ", "+1", "-1", "1.0", "1e1", "0x1", "", "\n1", "1" * 5000]


@pytest.mark.parametrize("text", WRONG)
def test_paths_and_queries_take_no_other_text(text: str) -> None:
    for kind in (_PathPort, _PathProtocol):
        assert TypeAdapter(kind).validate_python("10") == 10
        with pytest.raises(ValidationError):
            TypeAdapter(kind).validate_python(text)
    for model, name in ((Paging, "after"), (Paging, "limit"), (NotificationsQuery, "after")):
        assert getattr(model.model_validate({name: "10"}), name) == 10
        with pytest.raises(ValidationError):
            model.model_validate({name: text})


@given(st.integers(0, (1 << 53) - 1))
def test_numbers_arrive(number: int) -> None:
    assert from_text(str(number)) == number


@pytest.mark.parametrize("text", ["٦", "²", "1_0", "+1"])
def test_paths_into_documents_take_no_other_text(text: str) -> None:
    document = {"a": list(range(20))}
    assert pointer.deepest(document, ["a", text]) == ("a",)
    assert at_path(document, f"a.{text}") is None
