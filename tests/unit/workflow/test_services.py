"""The sections `services` and `analyses`: checked when a workflow is loaded."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows.plugins import INSTALLED, findings_at

from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import PluginSpec
from sfcperf.workflow.plan import plan_document

STORE = {"service": "store"}
RECORDER = {"vnfs": {"fwd": {"type": "recorder", "knobs": {"store": "mine"}}}}


def test_defaults_and_order(load: Any) -> None:
    workflow = load(services={"z": {**STORE, "size": 3}, "a": {**STORE, "feed": "z"}})
    assert [(s.name, s.service, s.parameters["size"]) for s in workflow.services] == [
        ("z", "store", 3),
        ("a", "store", 4),
    ]
    assert load().services == load().analyses == ()
    assert load(analyses=[ANALYSIS]).analyses == (PluginSpec("relate", {"order": 1}),)
    assert plan_document(workflow)["services"] == ["z", "a"]
    assert "services" not in plan_document(load())


ANALYSIS = {"analysis": "relate"}


@pytest.mark.parametrize(
    ("section", "given", "where", "message", "help_text"),
    [
        ("services", {"a": {"service": "stor"}}, "/services/a/service", "not known", "'store'"),
        ("services", {"a": {}}, "/services/a", "'service' is missing", "Kind"),
        ("services", {"a": {**STORE, "sizes": 1}}, "/services/a/sizes", "not known", "'size'"),
        ("services", {"a": {**STORE, "size": 9}}, "/services/a/size", "at most 8", ""),
        ("services", {"a": {**STORE, "size": 6}}, "/services/a/size", "more than the limit", ""),
        ("services", {"a:1": STORE}, "/services/a:1", "required pattern", ""),
        ("services", {"a": {**STORE, "feed": "b"}}, "/services/a", "not started before", "none"),
        ("services", [STORE], "/services", "an object", ""),
        ("analyses", [{"analysis": "relat"}], "/analyses/0/analysis", "relat", "'relate'"),
        ("analyses", [{**ANALYSIS, "ordr": 2}], "/analyses/0/ordr", "ordr", "'order'"),
        ("analyses", [{**ANALYSIS, "order": 0}], "/analyses/0/order", "0", ""),
        ("analyses", [{"order": 1}], "/analyses/0", "'analysis' is missing", ""),
        ("analyses", [ANALYSIS, ANALYSIS], "/analyses/1/analysis", "duplicate", ""),
        ("analyses", [{**ANALYSIS, "order": "${n}"}], "/analyses/0/order", "this is the same", ""),
        ("analyses", ANALYSIS, "/analyses", "must be a list", ""),
    ],
)
def test_what_is_wrong_is_pointed_at(
    refused: Any, section: str, given: Any, where: str, message: str, help_text: str
) -> None:
    factors = {"n": [1, 2]} if "${n}" in str(given) else None
    found = findings_at(refused(**{section: given}, factors=factors), where)
    assert message in found[0].message
    assert help_text in f"{found[0].allowed} {found[0].hint}"


def test_a_knob_names_a_service_of_the_workflow(load: Any) -> None:
    assert load(**RECORDER, services={"mine": STORE}).services
    with pytest.raises(WorkflowError, match="there is no service 'mine'") as caught:
        load(**RECORDER, services={"mint": STORE})
    assert caught.value.where == "/vnfs/fwd/knobs/store"
    assert caught.value.allowed == "mint"
    assert "'mint'" in str(caught.value.hint)


def test_only_what_a_service_lists_varies(load: Any) -> None:
    varied = load(factors={"n": [5, 6]}, services={"a": {**STORE, "limit": "${n}"}})
    assert [s.services[0].parameters["limit"] for s in varied.scenarios] == [5, 6]
    with pytest.raises(WorkflowError, match="size is the same in all scenarios") as caught:
        load(factors={"n": [1, 2]}, services={"a": {**STORE, "size": "${n}"}})
    assert caught.value.where == "/services/a/size"
    assert caught.value.allowed == "what may vary: limit"


def test_the_same_of_variants(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    services = {"a": STORE}
    both = {"first": {}, "second": {"services.a.limit": 9}}
    assert [
        s.services[0].parameters["limit"] for s in load(services=services, variants=both).scenarios
    ] == [5, 9]
    with pytest.raises(WorkflowError, match="size is the same"):
        load(services=services, variants={"first": {}, "second": {"services.a.size": 1}})
    with pytest.raises(WorkflowError, match="different services"):
        load(variants={"first": {}, "second": {"services": services}})
    monkeypatch.setitem(INSTALLED["service"], "other", INSTALLED["service"]["store"])
    with pytest.raises(WorkflowError, match="is the same in all") as caught:
        load(services=services, variants={"first": {}, "second": {"services.a.service": "other"}})
    assert caught.value.where == "/services/a/service"
