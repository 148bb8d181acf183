"""What a proxy in a workflow may be, in which chains, and with what its proof asks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.dns import DNS
from support.workflows.file import load_workflow

from sfcperf.errors import WorkflowError
from sfcperf.vnfs.program import redirect
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Workflow

PROXY = {"attach": "proxy", "command": ["x", "{{listen}}"], "redirect": {"ports": [80]}}
UDP = {**PROXY, "redirect": {"ports": [53], "protocol": "udp"}}


def loaded(
    folder: Path,
    knobs: dict[str, Any],
    chain: dict[str, Any] | None = None,
    factors: dict[str, Any] | None = None,
    probe: dict[str, Any] | None = None,
) -> Workflow:
    document = {
        "sfcperf": 1,
        "name": "proxy",
        "vnfs": {"own": {"type": "program", "knobs": knobs}},
        "chain": {"functions": [{"vnf": "own"}], **(chain or {})},
        "factors": factors or {},
        "probes": [probe or {"probe": "httperf"}],
    }
    file = folder / "workflow.json"
    file.write_text(json.dumps(document))
    return load_workflow(file)


def refusal(
    folder: Path,
    knobs: dict[str, Any],
    chain: dict[str, Any] | None = None,
    **more: dict[str, Any],
) -> WorkflowError:
    with pytest.raises(WorkflowError) as caught:
        loaded(folder, knobs, chain, **more)
    return caught.value


@pytest.mark.parametrize(
    ("knobs", "where", "message"),
    [
        ({"attach": "proxy", "command": ["x"]}, "", "nothing says which connections"),
        ({**PROXY, "attach": "routed"}, "redirect", "attach is routed"),
        ({**PROXY, "redirect": {}}, "redirect", "'ports' is missing"),
        ({**PROXY, "redirect": {"ports": []}}, "redirect/ports", "at least 1"),
        ({**PROXY, "redirect": {"ports": [0]}}, "redirect/ports/0", "at least 1"),
        ({**PROXY, "command": [], "setup": [["true"]]}, "command", "take the connections"),
        ({**PROXY, "data_plane": "kernel"}, "data_plane", "ends no connections"),
        ({**PROXY, "schema": {"listen": {"type": "integer"}}}, "schema/listen", "something else"),
        ({"command": ["x", "{{listen}}"]}, "command/1", "there is no {{listen}}"),
        (
            {**PROXY, "redirect": {"ports": [80], "request": "\u20ac"}},
            "redirect/request",
            "no byte",
        ),
        (
            {**PROXY, "redirect": {"ports": [80], "request": "{{client}}"}},
            "redirect/request",
            "there is no {{client}}",
        ),
    ],
)
def test_errors_point_to_their_place(
    tmp_path: Path, knobs: dict[str, Any], where: str, message: str
) -> None:
    told = refusal(tmp_path, knobs)
    assert (told.where, message in told.message) == (f"/vnfs/own/knobs/{where}".rstrip("/"), True)


def _match(**match: Any) -> dict[str, Any]:
    return {"classifier": {"match": match}}


@pytest.mark.parametrize(
    ("knobs", "chain", "where"),
    [
        (PROXY, {"reverse": "bypass"}, "reverse"),
        (PROXY, _match(ip_proto="tcp", source_port=9), "classifier/match/source_port"),
        (UDP, _match(ip_proto="tcp"), "classifier/match/ip_proto"),
        (PROXY, _match(ip_proto="tcp", destination_port=81), "classifier/match/destination_port"),
        (
            {**PROXY, "redirect": {"ports": [80], "server_ports": [81]}},
            _match(ip_proto="tcp", destination_port=80),
            "classifier/match/destination_port",
        ),
    ],
)
def test_a_chain_around_its_connections_is_refused(
    tmp_path: Path, knobs: dict[str, Any], chain: dict[str, Any], where: str
) -> None:
    told = refusal(tmp_path, knobs, chain)
    assert told.where == f"/chain/{where}"
    assert told.message.startswith("own ends connections")


def test_a_chain_of_nothing_else_is_refused_where_datagrams_prove_it(tmp_path: Path) -> None:
    match = {"ip_proto": "tcp", "destination_port": 80}
    assert loaded(tmp_path, PROXY, _match(**match))
    told = refusal(
        tmp_path,
        {**PROXY, "redirect": {"ports": [80], "protocol": "udp"}},
        _match(**{**match, "ip_proto": "udp"}),
        probe={"probe": "iperf3", "protocol": "udp"},
    )
    assert told.where == "/chain/classifier/match/destination_port"
    assert "takes all packets of the chain" in told.message


def test_a_probe_goes_to_the_port_that_is_a_factor(tmp_path: Path) -> None:
    """Not past the proxy, to a port of its own."""
    knobs = {**PROXY, "redirect": {"ports": ["${port}"]}}
    scenarios = loaded(tmp_path, knobs, factors={"port": [80, 81]}).scenarios
    assert [scenario.probes[0].parameters["port"] for scenario in scenarios] == [80, 81]
    [scenario] = loaded(tmp_path, UDP).scenarios
    assert "port" not in scenario.probes[0].parameters


def test_a_probe_past_the_proxy_is_refused(tmp_path: Path) -> None:
    """Each of its trials would fail. Other protocols may pass a proxy by."""
    web = {**PROXY, "redirect": {"ports": [8080, 8081]}}
    told = refusal(tmp_path, web, probe={"probe": "httperf", "port": 8082})
    assert (told.where, told.allowed) == ("/probes/0/port", "8080, 8081")
    for knobs, probe in (
        (web, {"probe": "httperf", "port": 8081}),
        (web, {"probe": "dns", "port": 8082}),
        (UDP, {"probe": "httperf", "port": 8082}),
        (web, {"probe": "ping"}),
    ):
        assert loaded(tmp_path, knobs, probe=probe)


def test_a_probe_may_pass_one_of_several_proxies(tmp_path: Path) -> None:
    document = {
        "sfcperf": 1,
        "name": "proxies",
        "vnfs": {
            f"on-{port}": {
                "type": "program",
                "knobs": {**PROXY, "redirect": {"ports": [port]}},
            }
            for port in (8080, 8081)
        },
        "chain": {"functions": [{"vnf": "on-8080"}, {"vnf": "on-8081"}]},
        "probes": [{"probe": "httperf", "port": 8081}],
    }
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps(document))
    assert load_workflow(file)


def test_what_a_client_asks() -> None:
    def asked(**more: Any) -> bytes:
        known = with_defaults(redirect.REDIRECT, {"ports": [53], **more})
        return redirect.redirection(known).request("192.0.2.7")

    assert asked().startswith(b"GET / HTTP/1.1\r\nHost: 192.0.2.7\r\n")
    assert asked(request="\x00\xff{{server}}") == b"\x00\xff192.0.2.7"
    first, second = (DNS(asked(protocol="udp")).qd[0] for _ in range(2))
    assert first.qname != second.qname and first.qname.endswith(b".example.com.")
    assert (first.qtype, first.qclass) == (1, 1)
