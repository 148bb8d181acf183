"""Probes whose packets the classifier would not send into the chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.workflows.file import load_workflow
from support.workflows.plugins import pointers

from sfcperf.errors import WorkflowError

QUICKSTART = Path(__file__).parents[3] / "workflows" / "quickstart.json"


def stream(**parameters: Any) -> dict[str, Any]:
    return {"probe": "stream", **parameters}


def chain(length: int | str = 1, **match: Any) -> dict[str, Any]:
    return {"functions": [{"vnf": "fwd", "count": length}], "classifier": {"match": match}}


def test_another_protocol_or_port_is_refused_with_what_is_allowed(refused: Any) -> None:
    udp, tcp = stream(protocol="udp"), stream(protocol="tcp")
    error = refused(chain=chain(ip_proto="udp"), probes=[udp, tcp])
    assert pointers(error) == {"/probes/1"}
    assert "stream-tcp measures tcp packets, but only udp" in error.message
    assert error.allowed == "a probe that sends udp, or /chain/classifier/match/ip_proto any or tcp"
    error = refused(chain=chain(ip_proto="tcp", destination_port=80), probes=[stream()])
    assert pointers(error) == {"/probes/0"}
    assert "sends to port 5201, but only packets to port 80" in error.message
    assert error.allowed == '"port": 80, or /chain/classifier/match/destination_port 5201'


@pytest.mark.parametrize(
    ("match", "probe"),
    [
        ({"ip_proto": "tcp"}, stream()),
        ({"ip_proto": "udp"}, stream(protocol="udp")),
        ({"ip_proto": "tcp", "destination_port": 5201}, stream()),
        ({"ip_proto": "tcp", "destination_port": 80}, stream(port=80)),
        ({"ip_proto": "icmp"}, {"probe": "echo"}),  # It does not say what it sends.
        ({"ip_proto": "tcp", "destination_port": 80}, {"probe": "echo"}),
    ],
)
def test_what_enters_or_may_enter_is_loaded(
    load: Any, match: dict[str, Any], probe: dict[str, Any]
) -> None:
    assert load(chain=chain(**match), probes=[probe])


def test_a_chain_of_no_functions_has_nothing_to_bypass(load: Any, refused: Any) -> None:
    assert load(chain=chain(0, ip_proto="udp"), probes=[stream()])
    lengths = {"factors": {"n": [0, 1]}, "chain": chain("${n}", ip_proto="udp")}
    assert pointers(refused(**lengths, probes=[stream()])) == {"/probes/0"}


@pytest.mark.parametrize(("endpoint", "key"), [("client", "source"), ("server", "destination")])
def test_an_address_outside_of_the_prefix_is_refused(
    load: Any, refused: Any, endpoint: str, key: str
) -> None:
    endpoints = {endpoint: {"address": "10.1.0.5"}}
    error = refused(endpoints=endpoints, chain=chain(**{key: "10.2.0.0/16"}))
    assert pointers(error) == {f"/chain/classifier/match/{key}"}
    assert error.allowed == "a prefix that contains 10.1.0.5"
    assert load(endpoints=endpoints, chain=chain(**{key: "10.1.0.0/16"}))
    assert load(endpoints=endpoints, chain=chain(0, **{key: "10.2.0.0/16"}))
    assert load(chain=chain(**{key: "10.2.0.0/16"}))


def test_the_real_probes_say_what_they_send() -> None:
    """ping beside udp alone: what deployed first, and failed in each trial, before."""
    match = "chain.classifier.match"
    with pytest.raises(WorkflowError) as caught:
        load_workflow(QUICKSTART, overrides=(f"{match}.ip_proto=udp",))
    assert pointers(caught.value) == {"/probes/0", "/probes/1", "/probes/3"}
    with pytest.raises(WorkflowError) as caught:
        load_workflow(
            QUICKSTART, overrides=(f"{match}.ip_proto=tcp", f"{match}.destination_port=5201")
        )
    assert pointers(caught.value) == {"/probes/0", "/probes/2"}


def test_a_probe_that_chooses_its_port_takes_that_of_the_classifier() -> None:
    match = ("chain.classifier.match.ip_proto=tcp", "chain.classifier.match.destination_port=7000")

    def ports(*overrides: str, **given: int) -> set[int | None]:
        probes = f"probes={json.dumps([{'probe': 'httperf', **given}])}"
        workflow = load_workflow(QUICKSTART, overrides=("figures=[]", probes, *overrides))
        return {scenario.probes[0].parameters.get("port") for scenario in workflow.scenarios}

    assert ports() == {None}
    assert ports(*match) == ports(*match, port=7000) == {7000}
    with pytest.raises(WorkflowError, match="only packets to port 7000 enter the chain"):
        ports(*match, port=7001)
